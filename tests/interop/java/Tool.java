import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.internals.Exit;

/** The main method of one of Apache Kafka's tools, without the start of a JVM for each call. */
class Tool {
    /** What the tool would have ended its process with. */
    private static class Ended extends RuntimeException {
        private final int status;

        Ended(int status) {
            this.status = status;
        }
    }

    private Tool() {
    }

    static void run(JsonNode command, ObjectNode answer) throws Exception {
        List<String> args = new ArrayList<>();
        command.get("args").forEach(arg -> args.add(arg.asText()));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        PrintStream out = System.out;
        PrintStream err = System.err;
        Exit.setExitProcedure((status, message) -> {
            throw new Ended(status);
        });
        try {
            System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            answer.put("status", status(command.get("class").asText(), args));
        } finally {
            System.setOut(out);
            System.setErr(err);
            Exit.resetExitProcedure();
        }
        answer.put("stdout", said.toString(StandardCharsets.UTF_8));
        answer.put("stderr", complained.toString(StandardCharsets.UTF_8));
    }

    private static int status(String name, List<String> args) throws Exception {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args.toArray(String[]::new));
            return 0;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Ended ended) {
                return ended.status;
            }
            throw e;
        }
    }
}

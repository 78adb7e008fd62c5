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
    /** Ends the tool instead of the process. Some tools catch it like any failure of theirs: the first status counts. */
    private static class Ended extends RuntimeException {
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
        List<Integer> ended = new ArrayList<>();
        Exit.setExitProcedure((status, message) -> {
            ended.add(status);
            throw new Ended();
        });
        try {
            System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            int status = status(command.get("class").asText(), args);
            answer.put("status", ended.isEmpty() ? status : ended.get(0));
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
            if (!(e.getCause() instanceof Ended)) {
                e.getCause().printStackTrace();
            }
            return 1;
        }
    }
}

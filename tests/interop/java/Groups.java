import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;

/** All groups of a broker: their types, and what they committed with all that goes with an offset. */
class Groups {
    private Groups() {
    }

    static void list(Admin admin, ObjectNode answer) throws Exception {
        Map<String, GroupListing> listed = admin.listGroups().all().get(60, TimeUnit.SECONDS).stream()
                .collect(Collectors.toMap(GroupListing::groupId, Function.identity()));
        Map<String, ListConsumerGroupOffsetsSpec> asked = listed.keySet().stream()
                .collect(Collectors.toMap(Function.identity(), group -> new ListConsumerGroupOffsetsSpec()));
        ObjectNode groups = answer.putObject("groups");
        if (asked.isEmpty()) {
            return;
        }
        admin.listConsumerGroupOffsets(asked).all().get(60, TimeUnit.SECONDS).forEach((group, offsets) -> {
            ObjectNode node = groups.putObject(group);
            node.put("type", listed.get(group).type().map(Enum::name).orElse(""));
            node.put("state", listed.get(group).groupState().map(Enum::name).orElse(""));
            node.put("protocol", listed.get(group).protocol());
            ObjectNode places = node.putObject("offsets");
            offsets.forEach((place, committed) -> {
                if (committed != null) {
                    places.putArray(place.toString()).add(committed.offset()).add(committed.leaderEpoch().orElse(-1))
                            .add(committed.metadata());
                }
            });
        });
    }
}

"""The broker is killed and started again while groups read: members find their groups, and nothing that was committed is lost."""

from checks.churn import PATIENCE, Story

FAMILIES = ("aiokafka", "franz-go", "sarama", "kafkajs", "rdkafka", "java")


class RestartChecks:
    def restart(self):
        """All families at a time, each a group of two; only with a broker that the suite itself has started."""
        if self.server is None:
            return self.note("# restart is left out: it is not for this run to kill the broker")
        families = self.churn_families(consumer_protocol=False)
        stories = {family: Story(self, f"restart-{family}", families[family][0], self.count // 5) for family in FAMILIES}
        try:
            self.check("restart begins", self.all_begin, stories)
            self.check("restart kill-9", self.server_again)
            for family, story in stories.items():
                self.check(f"restart {family} goes-on", self.goes_on, story)
        finally:
            for story in stories.values():
                story.end()

    @staticmethod
    def all_begin(stories):
        for story in stories.values():
            story.join(), story.join()
        for story in stories.values():
            story.shared()
            story.feed()
        for story in stories.values():
            story.all_read()

    def server_again(self):
        self.server.kill()
        self.server.start(seconds=PATIENCE)

    @staticmethod
    def goes_on(story):
        story.feed()
        story.all_committed()
        for member in list(story.members):
            story.leave(member)
        story.check()

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

// shopify is sarama, by the name of those who began it.
type shopify struct{ bootstrap string }

var saramaCodecs = map[string]sarama.CompressionCodec{
	"": sarama.CompressionNone, "none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func (s shopify) config(clientID string) *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID, config.Version = clientID, sarama.MaxVersion
	return config
}

// named sends a record where it wants to go, and one that does not care where its key says.
type named struct{ byKey sarama.Partitioner }

func (n named) Partition(message *sarama.ProducerMessage, partitions int32) (int32, error) {
	if wanted := message.Metadata.(*Record).Partition; wanted >= 0 {
		return wanted, nil
	}
	return n.byKey.Partition(message, partitions)
}

func (n named) RequiresConsistency() bool { return true }

func (s shopify) Produce(command Command, records []Record) error {
	config := s.config("interop-sarama")
	config.Producer.Compression = saramaCodecs[command.Config["compression.type"]]
	config.Producer.RequiredAcks, config.Producer.Return.Successes = sarama.WaitForAll, true
	config.Producer.Partitioner = func(topic string) sarama.Partitioner { return named{sarama.NewHashPartitioner(topic)} }
	config.Producer.Flush.Frequency = 20 * time.Millisecond
	// What keeps the order in which records were sent.
	config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	producer, err := sarama.NewAsyncProducer([]string{s.bootstrap}, config)
	if err != nil {
		return err
	}
	go func() {
		for i := range records {
			producer.Input() <- saramaMessage(command.Topic, &records[i])
		}
	}()
	for range records {
		select {
		case sent := <-producer.Successes():
			record := sent.Metadata.(*Record)
			record.Partition, record.Offset, record.Timestamp = sent.Partition, sent.Offset, sent.Timestamp.UnixMilli()
		case failed := <-producer.Errors():
			return failed
		case <-time.After(patience):
			return errors.New("a record was not reported within a minute")
		}
	}
	return producer.Close()
}

func saramaMessage(topic string, record *Record) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{Topic: topic, Metadata: record}
	if record.Key != nil {
		message.Key = sarama.ByteEncoder(record.Key)
	}
	if record.Value != nil {
		message.Value = sarama.ByteEncoder(record.Value)
	}
	if record.Timestamp >= 0 {
		message.Timestamp = time.UnixMilli(record.Timestamp)
	}
	for _, header := range record.Headers {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
	}
	return message
}

func (s shopify) Consume(command Command) ([]Record, error) {
	consumer, err := sarama.NewConsumer([]string{s.bootstrap}, s.config("interop-sarama"))
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	var records []Record
	deadline := time.After(patience)
	for partition, end := range command.Ends {
		if end == 0 {
			continue
		}
		reading, err := consumer.ConsumePartition(command.Topic, partition, 0)
		if err != nil {
			return nil, err
		}
		for next := int64(0); next < end; {
			select {
			case m := <-reading.Messages():
				record := Record{Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli(), Key: m.Key, Value: m.Value}
				for _, header := range m.Headers {
					record.Headers = append(record.Headers, Header{string(header.Key), header.Value})
				}
				records, next = append(records, record), m.Offset+1
			case <-deadline:
				return nil, fmt.Errorf("partition %d: only @%d of @%d came within a minute", partition, next, end)
			}
		}
		if err := reading.Close(); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (s shopify) Join(command Command, leaving <-chan struct{}) error {
	config := s.config(command.ClientID)
	config.Consumer.Group.Session.Timeout = time.Duration(command.SessionMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.Group.InstanceId = command.Instance
	config.Consumer.Offsets.Initial, config.Consumer.Offsets.AutoCommit.Enable = sarama.OffsetOldest, false
	strategies := map[string]sarama.BalanceStrategy{
		"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky": sarama.NewBalanceStrategySticky(),
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[command.Strategy]}
	group, err := sarama.NewConsumerGroup([]string{s.bootstrap}, command.Group, config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-leaving
		cancel()
	}()
	for ctx.Err() == nil {
		// Each generation of the group is one call.
		err := group.Consume(ctx, []string{command.Topic}, saramaMember{command.Topic})
		if errors.Is(err, sarama.ErrFencedInstancedId) {
			return err
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, time.Now(), err)
			time.Sleep(200 * time.Millisecond) // the broker may be away
		}
	}
	return group.Close()
}

// saramaMember reads each partition it is given in a goroutine of its own. Whether a commit was confirmed sarama does not say.
type saramaMember struct{ topic string }

func (m saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	tell("assigned", map[string]any{"partitions": m.claims(session)})
	return nil
}

func (m saramaMember) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	tell("revoked", map[string]any{"partitions": m.claims(session)})
	return nil
}

func (m saramaMember) claims(session sarama.ConsumerGroupSession) []int32 {
	return append([]int32{}, session.Claims()[m.topic]...) // a member without partitions has an empty list, not null
}

func (m saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for first := range claim.Messages() {
		stretch := stretch{partition: claim.Partition()}
		stretch.add(first.Offset)
		session.MarkMessage(first, "")
		for more := true; more; {
			select {
			case message, open := <-claim.Messages():
				if more = open; open {
					stretch.add(message.Offset)
					session.MarkMessage(message, "")
				}
			default:
				more = false
			}
		}
		stretch.end()
		session.Commit()
	}
	return nil
}

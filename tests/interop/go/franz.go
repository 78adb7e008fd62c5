package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franz is franz-go.
type franz struct{ bootstrap string }

const patience = time.Minute

var franzCodecs = map[string]kgo.CompressionCodec{
	"": kgo.NoCompression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func (f franz) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(f.bootstrap), kgo.ClientID("interop-franz-go")}, options...)...)
}

// chosen sends a record where it wants to go, and one that does not care where its key says.
func chosen() kgo.Partitioner {
	manual, byKey := kgo.ManualPartitioner(), kgo.StickyKeyPartitioner(nil)
	return kgo.BasicConsistentPartitioner(func(topic string) func(*kgo.Record, int) int {
		named, hashed := manual.ForTopic(topic), byKey.ForTopic(topic)
		return func(record *kgo.Record, partitions int) int {
			if record.Partition >= 0 {
				return named.Partition(record, partitions)
			}
			return hashed.Partition(record, partitions)
		}
	})
}

func (f franz) Produce(command Command, records []Record) error {
	options := []kgo.Opt{
		kgo.ProducerBatchCompression(franzCodecs[command.Config["compression.type"]]),
		kgo.RecordPartitioner(chosen()), kgo.ProducerLinger(20 * time.Millisecond),
	}
	client, err := f.client(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	failed := make(chan error, len(records))
	for i := range records {
		record := &records[i]
		sent := &kgo.Record{Topic: command.Topic, Partition: record.Partition, Key: record.Key, Value: record.Value}
		if record.Timestamp >= 0 {
			sent.Timestamp = time.UnixMilli(record.Timestamp)
		}
		for _, header := range record.Headers {
			sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
		}
		client.Produce(ctx, sent, func(report *kgo.Record, err error) {
			record.Partition, record.Offset, record.Timestamp = report.Partition, report.Offset, report.Timestamp.UnixMilli()
			failed <- err
		})
	}
	for range records {
		if err := <-failed; err != nil {
			return err
		}
	}
	return nil
}

func (f franz) Consume(command Command) ([]Record, error) {
	from := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	for partition, end := range command.Ends {
		if end > 0 {
			from[partition], left[partition] = kgo.NewOffset().At(0), end
		}
	}
	client, err := f.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{command.Topic: from}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var records []Record
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("after %d records, with %v to go: %w", len(records), left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			record := Record{Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			for _, header := range r.Headers {
				record.Headers = append(record.Headers, Header{header.Key, header.Value})
			}
			records = append(records, record)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return records, nil
}

func (f franz) Join(command Command, leaving <-chan struct{}) error {
	client, err := f.client(f.membership(command)...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-leaving
		cancel()
	}()
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, 500)
		if err := take(client, fetches); err != nil && ctx.Err() == nil {
			return err
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	return nil
}

func (f franz) membership(command Command) []kgo.Opt {
	told := func(event string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if mine := partitions[command.Topic]; len(mine) > 0 {
				tell(event, map[string]any{"partitions": mine})
			}
		}
	}
	options := []kgo.Opt{
		kgo.ClientID(command.ClientID), kgo.ConsumerGroup(command.Group), kgo.ConsumeTopics(command.Topic),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(told("assigned")), kgo.OnPartitionsRevoked(told("revoked")), kgo.OnPartitionsLost(told("revoked")),
	}
	if command.Protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	} else {
		balancers := map[string]kgo.GroupBalancer{
			"range": kgo.RangeBalancer(), "sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
		}
		options = append(options, kgo.Balancers(balancers[command.Strategy]), kgo.HeartbeatInterval(500*time.Millisecond),
			kgo.SessionTimeout(time.Duration(command.SessionMs)*time.Millisecond))
	}
	if command.Instance != "" {
		options = append(options, kgo.InstanceID(command.Instance))
	}
	return options
}

// take tells what was read and commits it.
func take(client *kgo.Client, fetches kgo.Fetches) error {
	if err := fetches.Err0(); err != nil {
		var session *kgo.ErrGroupSession
		if errors.As(err, &session) && overtaken(session.Err) {
			return nil // told, and tried again
		}
		return err
	}
	offsets := map[int32]int64{}
	fetches.EachPartition(func(part kgo.FetchTopicPartition) {
		stretch := stretch{partition: part.Partition}
		for _, record := range part.Records {
			stretch.add(record.Offset)
		}
		if stretch.end() {
			offsets[part.Partition] = stretch.next
		}
	})
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
		if !overtaken(err) {
			return err
		}
		tell("uncommitted", map[string]any{"message": err.Error()})
		return nil
	}
	tell("committed", map[string]any{"offsets": offsets})
	return nil
}

// overtaken says that a rebalance was quicker than a commit, or that the broker was away: somebody reads these records again.
func overtaken(err error) bool {
	var refused *kerr.Error
	if !errors.As(err, &refused) || refused.Retriable {
		return true
	}
	switch refused {
	case kerr.IllegalGeneration, kerr.RebalanceInProgress, kerr.UnknownMemberID, kerr.StaleMemberEpoch:
		return true
	}
	return false
}

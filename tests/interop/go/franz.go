package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// franzMember reads and commits, each as often as it takes.
type franzMember struct {
	*kgo.Client
	command Command
	lock    sync.Mutex
	pending map[int32]kgo.EpochOffset // positions that no commit has confirmed yet
}

func (f franz) Join(command Command, leaving <-chan struct{}) error {
	member := &franzMember{command: command, pending: map[int32]kgo.EpochOffset{}}
	client, err := f.client(f.membership(member)...)
	if err != nil {
		return err
	}
	member.Client = client
	defer client.CloseAllowingRebalance()
	for {
		select {
		case <-leaving:
			return nil
		default:
		}
		if err := member.step(); err != nil {
			return err
		}
	}
}

func (m *franzMember) step() error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	defer m.AllowRebalance()
	fetches := m.PollRecords(ctx, 500)
	var session *kgo.ErrGroupSession
	err := fetches.Err0()
	told := errors.As(err, &session) && overtaken(session.Err) // and tried again
	if err != nil && !told && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	m.take(fetches)
	return m.commit()
}

func (f franz) membership(member *franzMember) []kgo.Opt {
	command := member.command
	told := func(event string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if mine := partitions[command.Topic]; len(mine) > 0 {
				member.forget(mine)
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

func (m *franzMember) positions() map[int32]kgo.EpochOffset {
	m.lock.Lock()
	defer m.lock.Unlock()
	return maps.Clone(m.pending)
}

// forget is for partitions that somebody else has now, or that it has from where others left them.
func (m *franzMember) forget(partitions []int32) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, partition := range partitions {
		delete(m.pending, partition)
	}
}

// take tells what was read.
func (m *franzMember) take(fetches kgo.Fetches) {
	m.lock.Lock()
	defer m.lock.Unlock()
	fetches.EachPartition(func(part kgo.FetchTopicPartition) {
		stretch := stretch{partition: part.Partition}
		for _, record := range part.Records {
			stretch.add(record.Offset)
			m.pending[part.Partition] = kgo.EpochOffset{Epoch: record.LeaderEpoch, Offset: record.Offset + 1}
		}
		stretch.end()
	})
}

func (m *franzMember) commit() error {
	positions := m.positions()
	if len(positions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var failed error
	m.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{m.command.Topic: positions},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			failed = err
			if err != nil {
				return
			}
			for _, topic := range answer.Topics {
				for _, part := range topic.Partitions {
					failed = errors.Join(failed, kerr.ErrorForCode(part.ErrorCode))
				}
			}
		})
	if failed != nil && !overtaken(failed) {
		return failed
	}
	if failed != nil {
		tell("uncommitted", map[string]any{"message": failed.Error()})
		return nil
	}
	offsets := map[int32]int64{}
	for partition, position := range positions {
		offsets[partition] = position.Offset
	}
	m.forget(slices.Collect(maps.Keys(positions)))
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

package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// makeBatch returns a batch of one record as the broker writes it.
func makeBatch(offset int64, value string) []byte {
	record := kmsg.Record{Value: []byte(value)}
	record.Length = int32(len(record.AppendTo(nil))) - 1 // without the length itself, of one byte
	b := kmsg.RecordBatch{
		FirstOffset: offset, Magic: 2, NumRecords: 1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		Records: record.AppendTo(nil),
	}
	b.Length = int32(len(b.AppendTo(nil)) - batchBody)
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[batchCRCAt:], crc32.Checksum(raw[batchCheckedFrom:], castagnoli))
	return raw
}

func FuzzScan(f *testing.F) {
	whole := append(makeBatch(5, "one"), makeBatch(6, "two")...)
	f.Add(whole, int64(5))
	f.Add(whole, int64(0))
	f.Add(whole[:len(whole)-1], int64(5))
	f.Add(append(whole, make([]byte, 100)...), int64(5))
	f.Fuzz(func(t *testing.T, raw []byte, base int64) {
		if base < 0 || base > math.MaxInt64-int64(len(raw))-math.MaxInt32 {
			t.Skip("no segment has such a name")
		}
		valid, next, err := scan(bytes.NewReader(raw), base)
		require.NoError(t, err)
		require.LessOrEqual(t, valid, int64(len(raw)))
		require.GreaterOrEqual(t, next, base)
		more := makeBatch(next, "next")
		valid2, next2, err := scan(bytes.NewReader(append(raw[:valid:valid], more...)), base)
		require.NoError(t, err)
		require.Equal(t, valid+int64(len(more)), valid2)
		require.Equal(t, next+1, next2)
	})
}

// entry frames data as the broker does.
func entry(data string) []byte {
	body := append([]byte{1, 0}, data...)
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	raw = binary.LittleEndian.AppendUint32(raw, crc32.Checksum(body, castagnoli))
	return append(raw, body...)
}

func FuzzValidLength(f *testing.F) {
	whole := append(entry("one"), entry("two")...)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		valid := validLength(raw)
		require.LessOrEqual(t, valid, len(raw))
		require.Equal(t, valid, validLength(raw[:valid]))
		next := entry("next")
		require.Equal(t, valid+len(next), validLength(append(raw[:valid:valid], next...)))
	})
}

// FuzzOpen opens a log with arbitrary bytes in its files: two segments, an index, groups. The broker must continue
// after the last whole batch.
func FuzzOpen(f *testing.F) {
	one, two := makeBatch(0, "one"), makeBatch(1, "two")
	commit := entry(`{"type":"commit","g":"looptrace-store","t":"looptrace.spans","o":1}`)
	f.Add(one, two, []byte{}, commit, false)
	f.Add(one, two[:30], []byte("index"), commit[:20], true)
	f.Add(append(one, two...), []byte{}, []byte{}, []byte{}, true)
	f.Add([]byte{}, makeBatch(1, "two"), []byte{}, []byte("x"), false)
	f.Fuzz(func(t *testing.T, first, second, index, groups []byte, closed bool) {
		root, err := os.MkdirTemp(fastFolder(), "fuzz") //nolint:usetesting // in memory
		require.NoError(t, err)
		defer func() { _ = os.RemoveAll(root) }()
		config := testConfig(filepath.Join(root, "queue"))
		b, err := Start(config, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, b.cluster.CreateTopic(topic, 1, nil))
		stop(t, b)
		dir := filepath.Join(config.DataDir, partitionsDir, topic+"-0")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		for name, raw := range map[string][]byte{"0.dat": first, "1.dat": second, "0.idx": index} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(config.DataDir, syncedGroupsFile), groups, 0o600))
		valid, end, err := scan(bytes.NewReader(first), 0)
		require.NoError(t, err)
		// A closed segment was whole, so only a whole one can be closed.
		if closed && valid == int64(len(first)) && valid > 0 {
			require.NoError(t, os.Chmod(filepath.Join(dir, "0.dat"), 0o400))
		}
		if n, after, err := scan(bytes.NewReader(second), 1); n > 0 {
			require.NoError(t, err)
			end = after
		}

		config = testConfig(config.DataDir)
		b, err = Start(config, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer stop(t, b)
		client, err := newClient(b.Addr())
		require.NoError(t, err)
		defer client.Close()
		record, err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("next")}).First()
		require.NoError(t, err)
		require.Equal(t, end, record.Offset)
	})
}

// stop stops a broker that was not run.
func stop(t *testing.T, b *Broker) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, b.Run(ctx))
}

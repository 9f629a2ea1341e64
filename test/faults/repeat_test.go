package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/looptrace/looptrace/test/product"
)

// Names of the queue, as in otelcol-config.yaml.
const (
	spansTopic = "looptrace.spans"
	storeGroup = "looptrace-store"
)

// TestRepeat sends every request twice, and then has the worker read the whole queue again: readers must see the
// result of a single delivery.
func TestRepeat(t *testing.T) {
	s := newSite(t)
	begin := time.Now().Add(-time.Hour) // before all of its runs
	s.client.Twice = true
	r := s.newRow(t, "every request sent twice", fmt.Sprintf("at %d spans/s", s.client.SpansPerSecond))
	stop := s.send(t)
	pause(t.Context(), scaled(5*time.Second, time.Minute))
	stop()
	r.verify(t, drainedWithin)

	again := s.newRow(t, "the whole queue read again", "offsets set to the oldest record")
	again.from = 0
	before, err := s.reader.Runs(t.Context(), s.account.ProjectID, begin)
	require.NoError(t, err)
	queue := s.product.Queue(t)
	admin := kadm.NewClient(queue)

	// The group accepts offsets from outside only while it has no member.
	resume := s.halt(t)
	old := s.strike(t, product.CollectorProcess)
	wait(t, func(ctx context.Context) error {
		groups, err := admin.DescribeGroups(ctx, storeGroup)
		if state := groups[storeGroup].State; err == nil && state != "Empty" {
			err = fmt.Errorf("the group is %s", state)
		}
		return err
	})
	starts, err := admin.ListStartOffsets(t.Context(), spansTopic)
	require.NoError(t, err)
	require.NoError(t, admin.CommitAllOffsets(t.Context(), storeGroup, starts.Offsets()))
	records := int64(0)
	ends, err := admin.ListEndOffsets(t.Context(), spansTopic)
	require.NoError(t, err)
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(spansTopic, end.Partition)
		records += end.Offset - start.Offset
	})
	resume()
	s.awaitOther(t, product.CollectorProcess, old)
	waitFor(t, drainedWithin, func(ctx context.Context) error {
		committed, err := admin.FetchOffsets(ctx, storeGroup)
		ends.Each(func(end kadm.ListedOffset) {
			if at, _ := committed.Lookup(spansTopic, end.Partition); at.At < end.Offset {
				err = errors.Join(err, fmt.Errorf("partition %d is read up to %d of %d", end.Partition, at.At, end.Offset))
			}
		})
		return err
	})
	after, err := s.reader.Runs(t.Context(), s.account.ProjectID, begin)
	require.NoError(t, err)
	require.Equal(t, before, after, "the list of runs, times of receipt and all")
	again.Note("%d records read again", records)
	again.verify(t, visibleWithin)
}

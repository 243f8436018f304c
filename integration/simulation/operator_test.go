//go:build synctests

package simulation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"sink/commit"
	"sink/connector/upkeep"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

// operate has the operator do something beside the instances, in some steps. It is decided by numbers of its own.
func (w *world) operate() {
	switch w.rare.IntN(40) {
	case 0:
		w.grow()
	case 1:
		w.rescale()
	}
}

// grow gives a topic another partition: from then on some keys go there.
func (w *world) grow() {
	at := slices.IndexFunc(w.source.feeds, func(f *feed) bool { return f.grows })
	f := w.source.feeds[at]
	if len(f.owed) > 0 || !w.begun(f.topic) { // a tombstone is to follow its delete
		return
	}
	ctx := context.Background()
	grown, err := kadm.NewClient(w.source.plain).CreatePartitions(ctx, 1, f.topic)
	require.NoError(w.t, err)
	require.NoError(w.t, grown.Error())
	w.source.plain.ForceMetadataRefresh()
	w.source.txn.ForceMetadataRefresh()
	time.Sleep(10 * time.Second) // who writes to the topic knows of it
	f.partitions, f.grown = f.partitions+1, f.grown+1
	w.say("topic %s has %d partitions", f.topic, f.partitions)
	w.met.add("new partitions", 1)
}

// begun reports whether all tables of a topic have read of it: one that begins with a topic that has grown before cannot know.
func (w *world) begun(topic string) bool {
	for i := range w.targets {
		t := &w.targets[i]
		if !slices.Contains(t.Topics, topic) {
			continue
		}
		committer, err := commit.Open(context.Background(), commit.Config{Store: w.objects, Path: pathOf(t.Name), User: group})
		if err != nil {
			return false
		}
		state, err := committer.Resume(context.Background())
		require.NoError(w.t, err)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(state.Progress.Offsets)), func(tp table.TopicPartition) bool { return tp.Topic == topic }) {
			return false
		}
	}
	return true
}

// rescale gives a table another number of buckets, while it is written.
func (w *world) rescale() {
	t := &w.targets[w.rare.IntN(len(w.targets))]
	buckets, delay := 1+w.rare.Int32N(4), []time.Duration{0, 5, 100}[w.rare.IntN(3)]*time.Millisecond
	if _, err := manifest.LatestSchema(context.Background(), w.objects, pathOf(t.Name)); err != nil {
		return // not made yet
	}
	slow := object.NewFault(w.objects, object.Rule{
		Ops: []object.Op{object.OpGet, object.OpPut, object.OpCreate, object.OpOpen, object.OpWriter, object.OpList}, Effect: object.DelayOnly, Delay: delay,
	})
	w.operations.Go(func() { w.rescaleTo(slow, t.Name, buckets) })
}

// rescaleTo tries until it is done.
func (w *world) rescaleTo(store object.Store, name string, buckets int32) {
	for {
		keeper, err := upkeep.Open(context.Background(), upkeep.Config{Store: store, Path: pathOf(name)})
		require.NoError(w.t, err)
		report, err := keeper.Rescale(context.Background(), buckets, upkeep.Scope{})
		w.say("the operator rescales %s to %d: %+v, %v", name, buckets, report, err)
		if err == nil {
			if report.Snapshot > 0 {
				w.met.add("rescales", 1)
			}
			return
		}
	}
}

// finishRescales does again what an instance asks for whose first rows of a partition came after the rescale, which it had not heard of.
func (w *world) finishRescales() {
	for i := range w.targets {
		schema, err := manifest.LatestSchema(context.Background(), w.objects, pathOf(w.targets[i].Name))
		if err != nil || schema.ID == 0 {
			continue
		}
		buckets, err := schema.Buckets()
		require.NoError(w.t, err)
		w.rescaleTo(w.objects, w.targets[i].Name, int32(buckets))
	}
}

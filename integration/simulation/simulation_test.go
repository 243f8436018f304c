//go:build synctests

package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/connector"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

var (
	seedFlag  = flag.Uint64("seed", 1, "first seed of TestSimulation")
	countFlag = flag.Int("seeds", 100, "how many seeds TestSimulation runs, one after the other from -seed")
)

// TestSimulation runs whole lives of a group of instances. A failure names its seed:
//
//	make stress SEED=17 N=1
//
// SINK_TEST_LOG=1 shows what happened, with what the instances logged.
func TestSimulation(t *testing.T) {
	warmUp(t)
	met := &met{counts: map[string]int{}}
	if *countFlag >= 100 {
		t.Cleanup(func() { met.check(t) })
	}
	for seed := *seedFlag; seed < *seedFlag+uint64(*countFlag); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, met) })
		})
	}
}

// plan is what a seed decides of a run as a whole.
type plan struct {
	calm     bool // instances only start and stop
	steps    int
	stranger bool // another program writes the tables, too
	most     int  // instances at a time
	events   int  // a step
	protocol connector.Protocol
	fails    bool // tables fail now and then, and are tried again
}

func simulate(t *testing.T, seed uint64, met *met) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, rnd, append(feedsOf(), emptiedFeed()))
	defer w.close()
	w.met, w.rare = met, rand.New(rand.NewPCG(seed, 2))
	p := plan{calm: rnd.IntN(5) == 0, steps: 10 + rnd.IntN(40), most: 1 + rnd.IntN(3), events: 1 + rnd.IntN(30), protocol: connector.Classic}
	p.stranger = !p.calm && rnd.IntN(4) == 0
	if rnd.IntN(3) == 0 {
		p.protocol = connector.Consumer
	}
	if p.fails = !p.calm && rnd.IntN(2) == 0; p.fails {
		for i := range w.tables {
			w.tables[i].OnTableFailure = connector.Retry
		}
	}
	producers(rnd, w.tables)
	w.targets = targetsOf(w.tables)
	w.protocol = p.protocol
	w.say("seed %d: %+v", seed, p)
	for range p.steps {
		w.act(p)
		w.operate()
	}
	w.operations.Wait()
	for _, i := range w.instances {
		i.line.release()
		i.store.set(fair)
		i.store.refuse("")
	}
	for _, i := range w.instances {
		i.stop()
	}
	for _, i := range w.instances {
		i.wait()
	}
	w.finishRescales()
	w.drain()
	w.judge(p.calm)
	w.tell(met)
}

// act lets one thing happen.
func (w *world) act(p plan) {
	alive := w.alive()
	roll := w.rnd.IntN(100)
	switch {
	case roll < 8 && p.stranger:
		w.foreign()
	case roll < 55:
		w.source.step(p.events)
	case roll < 70:
		time.Sleep(time.Duration(w.rnd.IntN(4000)) * time.Millisecond)
	case len(alive) == 0 || roll < 80 && len(alive) < p.most:
		w.start(w.limits(p), w.objects)
	case roll < 85:
		i := alive[w.rnd.IntN(len(alive))]
		w.say("%s is asked to stop", i.name)
		i.stop()
	case !p.calm:
		if w.rnd.IntN(2) == 0 { // in the middle of a checkpoint, with luck
			w.source.step(p.events)
			time.Sleep(time.Duration(w.rnd.IntN(400)) * time.Millisecond)
		}
		w.harm(p, alive[w.rnd.IntN(len(alive))], len(alive) == 1)
	}
}

func (w *world) alive() []*instance {
	var alive []*instance
	for _, i := range w.instances {
		select {
		case <-i.ended:
		default:
			if !i.dead {
				alive = append(alive, i)
			}
		}
	}
	return alive
}

func (w *world) limits(p plan) limits {
	r := w.rnd
	store := []time.Duration{0, 1, 10, 50, 400}
	if p.calm {
		store = store[:1] // no work is cut short by a stop
	}
	pick := func(values ...int64) int64 { return values[r.IntN(len(values))] }
	return limits{
		checkpoint: connector.Checkpoint{
			Interval: time.Duration(pick(20, 500, 3000, 20000)) * time.Millisecond, Records: pick(2, 10, 50, 100000), Bytes: pick(4<<10, 64<<10, 1<<30),
		},
		memory: pick(4<<10, 16<<10, 256<<10, 64<<20), latency: time.Duration(pick(1, 1, 20, 300)) * time.Millisecond, fetch: int32(pick(1, 1<<20)),
		store: store[r.IntN(len(store))] * time.Millisecond,
	}
}

// harm does something to an instance, which may be the only one.
func (w *world) harm(p plan, i *instance, alone bool) {
	switch w.rnd.IntN(7) {
	case 0:
		w.say("%s is killed", i.name)
		w.met.add("kills", 1)
		i.kill()
	case 1:
		pause := time.Duration(1+w.rnd.IntN(60)) * time.Second
		w.say("%s sleeps for %v", i.name, pause)
		w.met.add("pauses", 1)
		i.held = true
		i.line.hold()
		time.AfterFunc(pause, func() { w.say("%s wakes", i.name); i.line.release() })
		if w.rnd.IntN(2) == 0 { // others have its partitions when it wakes
			if alone {
				w.start(w.limits(p), w.objects)
			}
			time.Sleep(time.Duration(12+w.rnd.IntN(50)) * time.Second)
		}
	case 2:
		w.say("%s loses its connections", i.name)
		w.met.add("cuts", 1)
		i.line.cut()
	case 3, 4:
		w.storm(i)
	case 5:
		w.trouble()
	case 6:
		if p.fails {
			w.refuse(i)
		}
	}
}

// refuse has one table of an instance fail for a while.
func (w *world) refuse(i *instance) {
	t := w.targets[w.rnd.IntN(len(w.targets))]
	spell := time.Duration(1+w.rnd.IntN(90)) * time.Second
	w.say("%s cannot write %s for %v", i.name, t.Name, spell)
	i.store.refuse(pathOf(t.Name))
	i.refused = true
	time.AfterFunc(spell, func() { i.store.refuse("") })
}

// storm makes an instance's store bad for a while.
func (w *world) storm(i *instance) {
	r := w.rnd
	level := []float64{0.02, 0.1, 0.3, 1}[r.IntN(4)]
	weathers := []weather{
		{before: level}, {after: level}, {exists: level}, {unseen: level}, {slow: level, delay: 30 * time.Second},
		{before: level / 4, after: level / 4, exists: level / 4, unseen: level / 4, slow: level / 4, delay: 5 * time.Second},
	}
	bad := weathers[r.IntN(len(weathers))]
	spell := time.Duration(1+r.IntN(90)) * time.Second
	w.say("%s has bad weather for %v: %+v", i.name, spell, bad)
	w.met.add("storms", 1)
	i.store.set(bad)
	time.AfterFunc(spell, func() { i.store.set(fair) })
}

// trouble makes the brokers answer some requests with an error, or moves what they lead.
func (w *world) trouble() {
	r := w.rnd
	switch r.IntN(4) {
	case 0:
		w.say("coordinators move")
		w.met.add("coordinators moved", 1)
		w.brokers.RehashCoordinators()
	case 1:
		f := w.source.feeds[r.IntN(len(w.source.feeds))]
		w.say("a partition of %s moves", f.topic)
		w.met.add("partitions moved", 1)
		_ = w.brokers.MoveTopicPartition(f.topic, r.Int32N(f.partitions), r.Int32N(2))
	default:
		keys := []kmsg.Key{kmsg.Fetch, kmsg.OffsetCommit, kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.ListOffsets, kmsg.ConsumerGroupHeartbeat}
		errs := []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.NotLeaderForPartition, kerr.UnknownServerError, kerr.RequestTimedOut}
		f := kfake.Fault{Keys: []kmsg.Key{keys[r.IntN(len(keys))]}, Err: errs[r.IntN(len(errs))], Count: 1 + r.IntN(5), TopLevel: r.IntN(2) == 0}
		w.say("brokers answer %v with %v, %d times", f.Keys[0], f.Err.Message, f.Count)
		w.met.add("broker errors", 1)
		w.brokers.Fault(f)
	}
}

// warmUp makes what lives as long as the process and has channels (the encoders and decoders of manifests): whichever bubble
// made it first would have it alone.
func warmUp(t *testing.T) {
	store := object.NewMem()
	fields := []table.Field{{Name: "id", Type: table.Type{Root: table.BigInt, NotNull: true}}}
	schema := table.NewSchema(fields, []string{"id"}, nil, nil)
	w, err := manifest.NewWriter(store, "d.db/t", schema, table.NewManifestNamer("warm"))
	require.NoError(t, err)
	name, _, err := w.List(t.Context(), []manifest.ListEntry{{Name: "m"}})
	require.NoError(t, err)
	_, err = manifest.ReadList(t.Context(), store, "d.db/t", name)
	require.NoError(t, err)
}

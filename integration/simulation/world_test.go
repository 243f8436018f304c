//go:build synctests

package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sink/connector"
	"sink/debezium"
	"sink/flush"
	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
)

const group = "sim"

// letterTopic is where the poison of one table goes; that of another goes to files.
const letterTopic = "letters"

// world is all that there is in one run: brokers, objects, databases and instances.
type world struct {
	t        *testing.T
	rnd      *rand.Rand
	rare     *rand.Rand // for what the operator does
	network  *kfake.VirtualNetwork
	brokers  *kfake.Cluster
	objects  *archive
	source   *source
	tables   []connector.Table // mappings
	targets  []target          // what they make
	plan     *requestFault     // of the first instance
	protocol connector.Protocol
	topics   map[[16]byte]string // by id
	began    time.Time

	strange int64           // rows that the stranger has made up
	theirs  map[string]bool // by table and text: the rows that the stranger has committed

	operations sync.WaitGroup // of the operator, under way

	met       *met
	instances []*instance
	made      int
	log       io.Writer

	mu      sync.Mutex
	commits []groupCommit
}

// groupCommit is an offset as the brokers were told, and the newest snapshot of each table at that moment.
type groupCommit struct {
	tp     table.TopicPartition
	offset int64
	newest map[string]int64
	marks  string
	when   time.Duration
}

// target is a table that a mapping makes.
type target struct {
	connector.Table
	source string // the only table in the database that it is of; empty: all that its topics have
}

// targetsOf returns what the mappings make.
func targetsOf(tables []connector.Table) (targets []target) {
	for _, t := range tables {
		if t.Source == nil {
			targets = append(targets, target{t, ""})
			continue
		}
		for _, name := range []string{"delta", "epsilon"} {
			made := t
			made.Name = "sim." + name
			targets = append(targets, target{made, name})
		}
	}
	return targets
}

// tablesOf are the mappings of every run: a topic that feeds two tables, a table that two topics feed, and a topic whose events
// say which of two tables they are of; and one that is emptied by events that may come again.
func tablesOf(options map[string]string) []connector.Table {
	base := connector.Table{
		Options: options, OnError: connector.DeadLetter, OnMissingBefore: connector.Fail, OnTruncate: connector.Fail, SchemaChange: connector.Evolve,
		Decoding: debezium.Config{Format: debezium.FormatJSON}, Letters: connector.Letters{Path: "_dead"},
		Metadata: map[string]debezium.Metadata{"_t": debezium.MetadataTopic, "_p": debezium.MetadataPartition, "_o": debezium.MetadataOffset},
	}
	alpha, beta, gamma := base, base, base
	alpha.Name, alpha.Topics, alpha.OnMissingBefore, alpha.OnTruncate = "sim.alpha", []string{"a"}, connector.Accept, connector.Apply
	alpha.Letters = connector.Letters{Topic: letterTopic}
	beta.Name, beta.Topics, beta.Deduplicate = "sim.beta", []string{"b"}, true
	gamma.Name, gamma.Topics, gamma.Disjoint, gamma.OnError = "sim.gamma", []string{"b", "c"}, true, connector.Skip
	gamma.PartitionBy = []string{"region"}
	zeta := base
	zeta.Name, zeta.Topics, zeta.Deduplicate, zeta.OnTruncate = "sim.zeta", []string{"e"}, true, connector.Apply
	routed := base
	routed.Deduplicate = true
	routed.Name, routed.Topics, routed.Source = "sim.${table}", []string{"d"}, regexp.MustCompile(`^(?:sim\.public\.(?:delta|epsilon))$`)
	return []connector.Table{alpha, beta, gamma, zeta, routed}
}

func feedsOf() []*feed {
	return []*feed{
		{topic: "a", source: "alpha", partitions: 1, first: 1, ids: 20, lone: true, rekeys: true, poison: true, truncates: 60},
		{topic: "b", source: "beta", partitions: 3, first: 1000, ids: 40, poison: true, repeats: 40},
		{topic: "c", source: "gamma", partitions: 2, first: 2000, ids: 20, grows: true},
		{topic: "d", source: "delta", partitions: 2, first: 3000, ids: 20},
		{topic: "d", source: "epsilon", partitions: 2, first: 4000, ids: 10, repeats: 40},
	}
}

// emptiedFeed is a table whose truncations, rows and poison are all sent again now and then.
func emptiedFeed() *feed {
	return &feed{topic: "e", source: "zeta", partitions: 1, first: 5000, ids: 20, rekeys: true, poison: true, truncates: 25, repeats: 15}
}

// newWorld has the tables that the feeds are for.
func newWorld(t *testing.T, rnd *rand.Rand, feeds []*feed) *world {
	w := &world{t: t, rnd: rnd, network: &kfake.VirtualNetwork{}, objects: newArchive(), protocol: connector.Classic, began: time.Now(), log: io.Discard, theirs: map[string]bool{}, met: &met{counts: map[string]int{}}}
	if os.Getenv("SINK_TEST_LOG") != "" {
		w.log = os.Stderr
	}
	opts := []kfake.Opt{
		kfake.ListenFn(w.network.Listen), kfake.NumBrokers(2), kfake.Ports(9092, 9093), kfake.GroupMinSessionTimeout(time.Second),
		kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "1000", "group.consumer.session.timeout.ms": "10000"}),
	}
	opts = append(opts, kfake.SeedTopics(1, letterTopic))
	for _, f := range feeds {
		opts = append(opts, kfake.SeedTopics(f.partitions, f.topic))
	}
	var err error
	w.brokers, err = kfake.NewCluster(opts...)
	require.NoError(t, err)
	w.topics = map[[16]byte]string{w.brokers.TopicInfo(letterTopic).TopicID: letterTopic}
	for _, f := range feeds {
		w.topics[w.brokers.TopicInfo(f.topic).TopicID] = f.topic
	}
	w.brokers.ControlKey(int16(kmsg.OffsetCommit), w.watchCommit)
	w.source = newSource(t, rnd, feeds, kgo.SeedBrokers(w.brokers.ListenAddrs()...), kgo.Dialer(w.network.DialContext))
	options := map[string]string{
		"bucket": fmt.Sprint(1 + rnd.IntN(3)), "file.compression": "none", "target-file-size": []string{"2 kb", "1 mb"}[rnd.IntN(2)],
	}
	if rnd.IntN(2) == 0 {
		options["num-sorted-run.compaction-trigger"], options["num-sorted-run.stop-trigger"] = "2", "3"
	}
	if rnd.IntN(2) == 0 {
		options["snapshot.time-retained"], options["snapshot.num-retained.min"], options["snapshot.num-retained.max"] = "1 s", "1", "5"
	}
	w.tables = slices.DeleteFunc(tablesOf(options), func(m connector.Table) bool {
		return !slices.ContainsFunc(feeds, func(f *feed) bool { return slices.Contains(m.Topics, f.topic) })
	})
	w.targets = targetsOf(w.tables)
	return w
}

// watchCommit notes what the group is told, for the judge.
func (w *world) watchCommit(req kmsg.Request) (kmsg.Response, error, bool) {
	w.brokers.KeepControl()
	w.mu.Lock()
	defer w.mu.Unlock()
	newest := map[string]int64{}
	for _, t := range w.targets {
		ids, err := manifest.SnapshotIDs(context.Background(), w.objects, pathOf(t.Name))
		if err != nil {
			w.t.Errorf("list the snapshots of %s: %v", t.Name, err)
		} else if len(ids) > 0 {
			newest[t.Name] = ids[len(ids)-1]
		}
	}
	for _, t := range req.(*kmsg.OffsetCommitRequest).Topics {
		for _, p := range t.Partitions {
			topic := t.Topic
			if topic == "" {
				topic = w.topics[t.TopicID]
			}
			w.commits = append(w.commits, groupCommit{table.TopicPartition{Topic: topic, Partition: p.Partition}, p.Offset, newest, deref(p.Metadata), time.Since(w.began)})
		}
	}
	return nil, nil, false
}

// say tells what happens, for whoever looks into a failure.
func (w *world) say(format string, args ...any) {
	line := fmt.Sprintf("%8.3f %s", time.Since(w.began).Seconds(), fmt.Sprintf(format, args...))
	if w.log == io.Discard {
		w.t.Log(line)
		return
	}
	fmt.Fprintln(w.log, line)
}

// close ends whatever still runs, after a failure.
func (w *world) close() {
	for _, i := range w.instances {
		i.kill()
	}
	for _, i := range w.instances {
		<-i.ended
	}
	w.source.close()
	w.brokers.Close()
	time.Sleep(time.Minute) // what is on its way arrives
}

// instance is one process of the sink.
type instance struct {
	w         *world
	name      string
	line      *line
	store     *store
	connector *connector.Connector
	stop      context.CancelFunc
	ended     chan struct{}
	err       error
	dead      bool // killed: what it returns does not matter
	held      bool // for a while
	refused   bool // the files of a table, for a while
}

// limits are how soon an instance checkpoints.
type limits struct {
	checkpoint connector.Checkpoint
	memory     int64
	latency    time.Duration // of requests to the brokers
	fetch      int32         // bytes of one partition in one answer; one batch at least
	store      time.Duration // that a call of the store takes
}

func (w *world) start(l limits, over object.Store, more ...func(*connector.Config)) *instance {
	w.made++
	i := &instance{w: w, name: fmt.Sprintf("i%d", w.made), line: newLine(w.network.DialContext, l.latency), ended: make(chan struct{})}
	i.line.plan, w.plan = w.plan, nil
	i.store = newStore(over, i.line, l.store, rand.New(rand.NewPCG(w.rnd.Uint64(), 1)))
	cfg := connector.Config{
		Kafka: []kgo.Opt{
			kgo.SeedBrokers(w.brokers.ListenAddrs()...), kgo.Dialer(i.line.dial), kgo.SessionTimeout(10 * time.Second), kgo.HeartbeatInterval(time.Second),
			kgo.RebalanceTimeout(20 * time.Second), kgo.FetchMaxWait(500 * time.Millisecond), kgo.MetadataMaxAge(20 * time.Second), kgo.FetchMaxPartitionBytes(l.fetch), kgo.ProducerBatchCompression(kgo.NoCompression()),
		},
		Group: group, Protocol: w.protocol, Start: connector.Earliest, Store: i.store, Memory: l.memory, Checkpoint: l.checkpoint, Encoders: 2,
		Tables: w.tables, TableRetry: connector.TableRetry{Initial: time.Second, Max: time.Minute}, StopWithin: 15 * time.Second,
		Log: zerolog.New(zerolog.ConsoleWriter{Out: w.log, NoColor: true, PartsExclude: []string{"time"}}).Hook(clock{w.began}).With().Str("i", i.name).Logger(),
	}
	if w.log == io.Discard {
		cfg.Log = zerolog.Nop()
	}
	if os.Getenv("SINK_TEST_LOG") == "kafka" {
		cfg.Kafka = append(cfg.Kafka, kgo.WithLogger(kgo.BasicLogger(w.log, kgo.LogLevelDebug, func() string {
			return fmt.Sprintf("%.3f %s ", time.Since(w.began).Seconds(), i.name)
		})))
	}
	for _, f := range more {
		f(&cfg)
	}
	var err error
	i.connector, err = connector.New(cfg)
	require.NoError(w.t, err)
	ctx, stop := context.WithCancel(context.Background())
	i.stop = stop
	go func() {
		defer close(i.ended)
		i.err = i.connector.Run(ctx)
	}()
	w.instances = append(w.instances, i)
	w.say("%s starts: %+v", i.name, l)
	return i
}

// clock puts virtual time into log lines.
type clock struct{ began time.Time }

func (c clock) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str("at", fmt.Sprintf("%.3f", time.Since(c.began).Seconds()))
}

// kill ends the process at once: not one more byte leaves it.
func (i *instance) kill() {
	i.dead = true
	i.line.kill()
	i.stop()
}

// wait waits for the end of the process, and complains about one that ended badly.
func (i *instance) wait() {
	select {
	case <-i.ended:
	case <-time.After(15 * time.Minute):
		i.w.t.Fatalf("%s does not end: %+v", i.name, i.connector.Stats())
	}
	i.stop()
	if i.held && i.err != nil && strings.HasPrefix(i.err.Error(), "kafka: ") {
		return // it was held when it began
	}
	if i.refused && i.err != nil && (errors.Is(i.err, flush.ErrMerge) || strings.Contains(i.err.Error(), ": look up its partitions: ")) {
		return // it ended while a table waited to be tried again, over its files or over what the brokers said at the last try
	}
	if !i.dead {
		require.NoError(i.w.t, i.err, "%s", i.name)
	}
}

// drain has a clean instance finish what is on the topics.
func (w *world) drain() {
	w.evict()
	i := w.start(limits{connector.Checkpoint{Interval: time.Second, Bytes: 1 << 20, Records: 1 << 20}, 64 << 20, time.Millisecond, 1 << 20, 0}, w.objects,
		func(cfg *connector.Config) { cfg.UntilEnd = true })
	i.wait()
	w.say("drained")
}

// evict has the group forget members that are gone. The fake broker keeps one for ever that died between join and sync,
// which a real one lets go after the rebalance timeout.
func (w *world) evict() {
	time.Sleep(30 * time.Second)
	ctx := context.Background()
	groups, err := kadm.NewClient(w.source.plain).DescribeGroups(ctx, group)
	require.NoError(w.t, err)
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, m := range groups[group].Members {
		member := kmsg.NewLeaveGroupRequestMember()
		member.MemberID = m.MemberID
		req.Members = append(req.Members, member)
		w.say("%s is a ghost", m.MemberID)
	}
	if len(req.Members) > 0 {
		_, err = req.RequestWith(ctx, w.source.plain)
		require.NoError(w.t, err)
	}
}

func pathOf(name string) table.Path { return table.NewPath("sim", name[len("sim."):]) }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

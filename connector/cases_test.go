package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sink/table"
	"sink/table/manifest"
	"sink/table/object"
	"sink/table/scan"
)

// Small inputs that have made other sinks fail, each with the right table, changelog and offsets. Each is run with all
// events in one checkpoint, with a checkpoint for every event, and with a process that is killed after each step of a
// checkpoint and started again: what a reader sees must be the same. So must it be when a call of the store fails once. Time is
// virtual.

// event is one Kafka record of a case.
type event struct {
	topic     string // empty: the first topic of the table
	partition int32
	key       string // empty: null
	value     string // empty: null
	headers   []kgo.RecordHeader
}

// script is a case: what comes in, and what must come out.
type script struct {
	partitions int32 // 0: one
	topics     []string
	table      func(*Table)
	events     []event
	config     func(*Config)
	skips      int        // points between two at which it is killed, for one of many like it
	rows       []string   // canonical JSON by primary key
	changes    []string   // kind and canonical JSON, in the order that holds for each key
	offsets    []int64    // of the group, by partition of the first topic
	fails      string     // what stops the table; rows, changes and offsets are those before
	stats      TableStats // Skipped, DeadLetters and MissingBefore, where nothing is read twice
	mayBegin   string     // a change that also comes, first, when the table is there before the first record
	check      func(t *testing.T, s *stage, store *object.Mem, cfg Config)
}

// stage is a Kafka in virtual time.
type stage struct {
	*broker
	cluster *kfake.Cluster
	network *kfake.VirtualNetwork
	dial    func(ctx context.Context, network, address string) (net.Conn, error) // of the processes
}

func newStage(t *testing.T, partitions int32, topics ...string) *stage {
	t.Helper()
	s := &stage{network: &kfake.VirtualNetwork{}}
	s.dial = s.network.DialContext
	var err error
	s.cluster, err = kfake.NewCluster(kfake.ListenFn(s.network.Listen), kfake.NumBrokers(1), kfake.Ports(9092),
		kfake.SeedTopics(max(partitions, 1), topics...), kfake.GroupMinSessionTimeout(time.Second))
	require.NoError(t, err)
	t.Cleanup(s.cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.ListenAddrs()...), kgo.Dialer(s.network.DialContext),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.broker = &broker{t: t, addrs: s.cluster.ListenAddrs(), client: client, admin: kadm.NewClient(client)}
	return s
}

// onStage runs f in virtual time.
func onStage(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	warmUp(t)
	synctest.Test(t, f)
}

// warmUp makes what lives as long as the process and has channels (the encoders and decoders of manifests): whichever
// bubble of virtual time made it first would have it alone.
var warmUp = func() func(*testing.T) {
	var once sync.Once
	return func(t *testing.T) {
		once.Do(func() {
			store := object.NewMem()
			schema := table.NewSchema([]table.Field{{Name: "id", Type: mustType("BIGINT NOT NULL")}}, []string{"id"}, nil, nil)
			w, err := manifest.NewWriter(store, "d.db/t", schema, table.NewManifestNamer("warm"))
			require.NoError(t, err)
			name, _, err := w.List(t.Context(), []manifest.ListEntry{{Name: "m"}})
			require.NoError(t, err)
			_, err = manifest.ReadList(t.Context(), store, "d.db/t", name)
			require.NoError(t, err)
		})
	}
}()

func (s *stage) emit(topic string, e event) {
	s.t.Helper()
	r := &kgo.Record{Topic: topic, Partition: e.partition, Headers: e.headers}
	if e.topic != "" {
		r.Topic = e.topic
	}
	if e.key != "" {
		r.Key = []byte(e.key)
	}
	if e.value != "" {
		r.Value = []byte(e.value)
	}
	require.NoError(s.t, s.client.ProduceSync(context.Background(), r).FirstErr())
}

// process is a running connector.
type process struct {
	c     *Connector
	stop  context.CancelFunc
	ended chan struct{}
	err   error

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

// start runs a connector over the store.
func (s *stage) start(cfg Config) *process {
	s.t.Helper()
	p := &process{ended: make(chan struct{})}
	cfg.Kafka = append(slices.Clone(cfg.Kafka), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second),
		kgo.DisableClientMetrics(), kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := s.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.dead {
				conn.Close()
				return nil, errors.New("killed")
			}
			p.conns = append(p.conns, conn)
			return conn, nil
		}))
	var err error
	p.c, err = New(cfg)
	require.NoError(s.t, err)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() {
		defer close(p.ended)
		p.err = p.c.Run(ctx)
	}()
	s.t.Cleanup(func() {
		if p.running() { // the test has failed
			p.kill()
		}
	})
	return p
}

// cut takes the brokers away for good.
func (p *process) cut() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.hangUp()
}

// hangUp closes all connections to the brokers.
func (p *process) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

// kill ends the process without a word to brokers or store.
func (p *process) kill() {
	p.cut()
	p.c.endLife(errors.New("killed"))
	p.stop()
	<-p.ended
}

// end stops the process gracefully.
func (p *process) end() error {
	p.stop()
	<-p.ended
	return p.err
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// play runs a case in the three ways.
func play(t *testing.T, sc script) {
	t.Helper()
	topics := sc.topics
	if topics == nil {
		topics = []string{crateTopic}
	}
	mapping := crateTable()
	mapping.Options["file.compression"] = "none" // its encoders would belong to one bubble
	if sc.table != nil {
		sc.table(&mapping)
	}
	act := func(name string, f func(t *testing.T, s *stage, store *object.Mem, cfg Config)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStage(t, func(t *testing.T) {
				s := newStage(t, sc.partitions, topics...)
				store := object.NewMem()
				cfg := s.config(store, mapping)
				if sc.config != nil {
					sc.config(&cfg)
				}
				f(t, s, store, cfg)
			})
		})
	}
	act("together", func(t *testing.T, s *stage, store *object.Mem, cfg Config) {
		for _, e := range sc.events {
			s.emit(topics[0], e)
		}
		p := s.start(cfg)
		<-p.ended
		sc.judge(t, s, store, cfg, p.err)
		sc.judgeStats(t, p.c.Stats().Tables[0])
	})
	act("each", func(t *testing.T, s *stage, store *object.Mem, cfg Config) {
		cfg.UntilEnd, cfg.Checkpoint.Records = false, 1
		p := s.start(cfg)
		for _, e := range sc.events {
			s.emit(topics[0], e)
			for p.running() && !s.caughtUp(cfg.Group, topics[:1]) {
				time.Sleep(10 * time.Millisecond)
			}
		}
		stats := p.c.Stats()
		err := p.end()
		sc.judge(t, s, store, cfg, err)
		sc.judgeStats(t, stats.Tables[0])
	})
	act("killed", func(t *testing.T, s *stage, _ *object.Mem, cfg Config) {
		for _, e := range sc.events {
			s.emit(topics[0], e)
		}
		for _, rule := range killings {
			for fired := true; fired; {
				rule.Nth += 1 + sc.skips
				store, cfg := object.NewMem(), cfg
				cfg.Group = fmt.Sprintf("%s %d", rule.Effect, rule.Nth)
				fired = s.untilKilled(store, cfg, rule)
				cfg.Store = store
				p := s.start(cfg)
				<-p.ended
				t.Logf("%s call %d of %v: %t", rule.Effect, rule.Nth, rule.Ops, fired)
				sc.judge(t, s, store, cfg, p.err)
			}
		}
	})
	act("failing", func(t *testing.T, s *stage, _ *object.Mem, cfg Config) {
		for _, e := range sc.events {
			s.emit(topics[0], e)
		}
		for _, rule := range failures {
			for fired := 1; fired > 0; {
				rule.Nth += 3 + 2*sc.skips
				store, cfg := object.NewMem(), cfg
				fault := object.NewFault(store, rule)
				cfg.Group, cfg.Store = fmt.Sprintf("%s %d", rule.Effect, rule.Nth), fault
				p := s.start(cfg)
				<-p.ended
				fired = fault.Fired()
				t.Logf("%s call %d: %v", rule.Effect, rule.Nth, fault.Log())
				sc.judge(t, s, store, cfg, p.err)
			}
		}
	})
}

// killings are where a process is killed: after each call that changes the store, and before a snapshot is made.
var killings = []object.Rule{
	{Ops: []object.Op{object.OpPut, object.OpCreate, object.OpWriter, object.OpClose, object.OpCopy, object.OpDelete}, Effect: object.CrashAfter},
	{Ops: []object.Op{object.OpCreate}, Path: "snapshot-*", Effect: object.CrashBefore},
}

// failures are calls that change the store and fail once, before or after they have done so.
var failures = []object.Rule{{Effect: object.FailBefore}, {Effect: object.FailAfter}}

// untilKilled runs a process with small checkpoints until the rule kills it, or there is nothing more to do.
func (s *stage) untilKilled(store *object.Mem, cfg Config, rule object.Rule) bool {
	fault := object.NewFault(store, rule)
	cfg.Store, cfg.Checkpoint.Records = fault, 1
	cfg.Kafka = append(slices.Clone(cfg.Kafka), kgo.FetchMaxPartitionBytes(1))
	p := s.start(cfg)
	for p.running() && fault.Fired() == 0 {
		time.Sleep(time.Millisecond)
	}
	fired := fault.Fired() > 0
	fault.Crash()
	p.kill()
	return fired
}

// caughtUp reports whether the group has passed everything in the topics.
func (s *stage) caughtUp(group string, topics []string) bool {
	ends, err := s.admin.ListCommittedOffsets(context.Background(), topics...)
	require.NoError(s.t, err)
	offsets, err := s.admin.FetchOffsets(context.Background(), group)
	require.NoError(s.t, err)
	caughtUp := true
	ends.Each(func(o kadm.ListedOffset) {
		at, _ := offsets.Lookup(o.Topic, o.Partition)
		caughtUp = caughtUp && at.At >= o.Offset
	})
	return caughtUp
}

// judge compares what came out with what must.
func (sc *script) judge(t *testing.T, s *stage, store *object.Mem, cfg Config, err error) {
	t.Helper()
	if sc.fails == "" {
		require.NoError(t, err)
	} else {
		require.ErrorContains(t, err, sc.fails)
	}
	name := cfg.Tables[0].Name
	if sc.rows == nil && sc.changes == nil {
		_, err := scan.Open(t.Context(), store, pathOf(name))
		if err != nil {
			return // no table at all
		}
	}
	rows := rowsOf(t, store, name)
	require.Equal(t, sc.rows, rows, "rows")
	key, changes := changesOf(t, store, name)
	if sc.mayBegin != "" && changes[0] == sc.mayBegin {
		changes = changes[1:]
	}
	require.Equal(t, byKey(t, key, sc.changes), byKey(t, key, changes), "changelog")
	requireFold(t, key, changes, rows)
	for p, want := range sc.offsets {
		require.Equal(t, want, s.group(cfg.Group, cfg.Tables[0].Topics[0], int32(p)), "the group's offset of partition %d", p)
	}
	if sc.check != nil {
		sc.check(t, s, store, cfg)
	}
}

func (sc *script) judgeStats(t *testing.T, have TableStats) {
	t.Helper()
	if sc.stats.Skipped != nil {
		require.Equal(t, sc.stats.Skipped, have.Skipped)
	}
	require.Equal(t, sc.stats.DeadLetters, have.DeadLetters, "dead letters")
	require.Equal(t, sc.stats.MissingBefore, have.MissingBefore, "missing before images")
}

func pathOf(name string) table.Path {
	database, tableName, _ := strings.Cut(name, ".")
	return table.NewPath(database, tableName)
}

// changesOf returns the primary key of a table and all of its changelog, snapshot after snapshot: kind and canonical JSON.
func changesOf(t *testing.T, store object.Store, name string) (key, changes []string) {
	t.Helper()
	opened, err := scan.Open(t.Context(), store, pathOf(name))
	require.NoError(t, err)
	fields, err := opened.ChangeFields(scan.ChangeOptions{})
	require.NoError(t, err)
	for change, err := range opened.Changes(t.Context(), scan.Earliest, scan.ChangeOptions{}) {
		require.NoError(t, err)
		for i := range change.Batch.Len() {
			changes = append(changes, change.Batch.Kinds[i].String()+" "+string(table.AppendCanonicalRow(nil, fields, change.Batch, i)))
		}
	}
	return opened.Schema().PrimaryKeys, changes
}

// byKey sorts changes by the primary key of their rows.
func byKey(t *testing.T, key, changes []string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, change := range changes {
		k := keyIn(t, key, change[len("+I "):])
		out[k] = append(out[k], change)
	}
	return out
}

func keyIn(t *testing.T, key []string, row string) string {
	t.Helper()
	if len(key) == 0 { // an append table: rows that are equal are told apart by their number
		return row
	}
	var cells map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(row), &cells), row)
	var k []string
	for _, name := range key {
		k = append(k, string(cells[name]))
	}
	return strings.Join(k, ",")
}

// requireFold wants the changelog, applied in order, to give the rows.
func requireFold(t *testing.T, key, changes, rows []string) {
	t.Helper()
	folded := map[string]string{}
	for _, change := range changes {
		k := keyIn(t, key, change[3:])
		switch change[:2] {
		case "+I", "+U":
			folded[k] = change[3:]
		case "-D":
			delete(folded, k)
		}
	}
	left := map[string]string{}
	for _, r := range rows {
		left[keyIn(t, key, r)] = r
	}
	require.Equal(t, left, folded, "the changelog does not fold to the rows")
}

// lettersIn returns the records put aside in files, "partition/offset" each, sorted.
func lettersIn(t *testing.T, store object.Store, folder string) []string {
	t.Helper()
	var found []string
	for info, err := range store.List(t.Context(), folder+"/") {
		require.NoError(t, err)
		text, err := store.Get(t.Context(), info.Name)
		require.NoError(t, err)
		for one := range strings.Lines(string(text)) {
			var l letter
			require.NoError(t, json.Unmarshal([]byte(one), &l))
			require.NotEmpty(t, l.Cause)
			found = append(found, fmt.Sprintf("%d/%d", l.Partition, l.Offset))
		}
	}
	slices.Sort(found)
	return found
}

package object

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Op is an operation of a store, as a [Fault] counts it.
type Op string

// The operations. A writer's Write, Close and Abort and a reader's ReadAt count like calls of the store.
const (
	OpOpen   Op = "open"
	OpRead   Op = "read"
	OpGet    Op = "get"
	OpPut    Op = "put"
	OpCreate Op = "create"
	OpWriter Op = "writer"
	OpWrite  Op = "write"
	OpClose  Op = "close"
	OpAbort  Op = "abort"
	OpCopy   Op = "copy"
	OpList   Op = "list"
	OpDelete Op = "delete"
)

// Effect is what a [Rule] does to a call.
type Effect int

// The effects.
const (
	// FailBefore returns an error and does nothing.
	FailBefore Effect = iota
	// FailAfter does the call and then returns an error: the answer was lost.
	FailAfter
	// LieExist does a Create and then says fs.ErrExist: a proxy sent the request twice.
	LieExist
	// Tear does half of it: half of a Write's bytes, half of a Delete's names. Other calls fail before.
	Tear
	// CrashBefore and CrashAfter are FailBefore and FailAfter, and from then on every call fails: the process died.
	CrashBefore
	CrashAfter
	// DelayOnly does no harm but the rule's Delay.
	DelayOnly
)

// Rule picks calls and says what happens to them. The zero Rule fails all.
type Rule struct {
	Ops    []Op   // empty: any that can change the store; OpAbort only when named
	Path   string // a pattern of path.Match, against the name, or its last part if the pattern has no slash; empty: any
	Nth    int    // only the n-th call that the rule picks, from 1; 0: all of them
	Effect Effect
	Delay  time.Duration // waited before the call; the context ends it
	Err    error         // joined to ErrInjected in what the call returns; may be nil
}

// ErrInjected is in every error that a [Fault] makes up, but for LieExist.
var ErrInjected = errors.New("injected fault")

// Fault wraps a store and lets calls go wrong by rules. A test walks through all points of failure with
//
//	for n := 1; ; n++ {
//		f := object.NewFault(store, object.Rule{Nth: n, Effect: object.CrashAfter})
//		run(f)
//		if f.Fired() == 0 {
//			break
//		}
//		check(store)
//	}
type Fault struct {
	store Store

	mu      sync.Mutex
	rules   []Rule
	seen    []int // calls that each rule picked
	fired   int
	crashed bool
	log     []string
}

// NewFault wraps a store. Of several rules that pick a call the first one counts; all of them count the call.
func NewFault(store Store, rules ...Rule) *Fault {
	return &Fault{store: store, rules: rules, seen: make([]int, len(rules))}
}

// Fired returns how many calls went wrong by a rule; those after a crash do not count.
func (f *Fault) Fired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// Crash makes all later calls fail.
func (f *Fault) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed = true
}

// Log returns the calls so far in the order of their beginning, "put db.db/t/snapshot/LATEST" each; what a rule did to it
// follows. Reads and writes of parts of an object and calls after a crash are not in it.
func (f *Fault) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// String names the effect as in the log.
func (e Effect) String() string {
	names := []string{"fails before", "fails after", "lies", "torn", "crashes before", "crashes after", "delayed"}
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("Effect(%d)", int(e))
}

// verdict is what is to happen to one call.
type verdict struct {
	rule *Rule
	err  error // of the call, when it is to fail
}

func (f *Fault) judge(ctx context.Context, op Op, name string) (verdict, error) {
	v, delay, err := f.pick(op, name)
	if delay > 0 {
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("%s %s: %w", op, name, ctx.Err())
		case <-time.After(delay):
		}
	}
	return v, err
}

func (f *Fault) pick(op Op, name string) (verdict, time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return verdict{}, 0, fmt.Errorf("%s %s: %w: crashed", op, name, ErrInjected)
	}
	var v verdict
	for i := range f.rules {
		r := &f.rules[i]
		if !r.picks(op, name) {
			continue
		}
		f.seen[i]++
		if v.rule == nil && (r.Nth == 0 || r.Nth == f.seen[i]) {
			v.rule = r
		}
	}
	line := string(op) + " " + name
	if v.rule != nil {
		f.fired++
		line += " (" + v.rule.Effect.String() + ")"
		v.err = fmt.Errorf("%s %s: %w", op, name, errors.Join(ErrInjected, v.rule.Err))
	}
	if op != OpRead && op != OpWrite {
		f.log = append(f.log, line)
	}
	if v.rule == nil {
		return v, 0, nil
	}
	f.crashed = v.rule.Effect == CrashBefore || v.rule.Effect == CrashAfter
	if e := v.rule.Effect; e == FailBefore || e == CrashBefore || e == Tear && op != OpWrite && op != OpDelete {
		return v, v.rule.Delay, v.err
	}
	return v, v.rule.Delay, nil
}

func (r *Rule) picks(op Op, name string) bool {
	if len(r.Ops) == 0 {
		switch op {
		case OpPut, OpCreate, OpWriter, OpWrite, OpClose, OpCopy, OpDelete:
		default:
			return false
		}
	} else if !slices.Contains(r.Ops, op) {
		return false
	}
	if r.Path == "" {
		return true
	}
	if !strings.Contains(r.Path, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(r.Path, name)
	if err != nil {
		panic(fmt.Sprintf("object: fault rule with a bad pattern %q", r.Path))
	}
	return ok
}

// after is the error of a call that was done without one.
func (v verdict) after(name string) error {
	if v.rule == nil {
		return nil
	}
	switch v.rule.Effect {
	case FailAfter, CrashAfter, Tear:
		return v.err
	case LieExist:
		return fmt.Errorf("create %s: %w", name, fs.ErrExist)
	}
	return nil
}

func (f *Fault) do(ctx context.Context, op Op, name string, call func() error) error {
	v, err := f.judge(ctx, op, name)
	if err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	return v.after(name)
}

// Open implements [Store].
func (f *Fault) Open(ctx context.Context, name string) (r Reader, err error) {
	err = f.do(ctx, OpOpen, name, func() (err error) { r, err = f.store.Open(ctx, name); return err })
	if err != nil {
		if r != nil {
			r.Close()
		}
		return nil, err
	}
	return &faultReader{Reader: r, f: f, ctx: ctx, name: name}, nil
}

// Get implements [Store].
func (f *Fault) Get(ctx context.Context, name string) (b []byte, err error) {
	err = f.do(ctx, OpGet, name, func() (err error) { b, err = f.store.Get(ctx, name); return err })
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Put implements [Store].
func (f *Fault) Put(ctx context.Context, name string, b []byte) error {
	return f.do(ctx, OpPut, name, func() error { return f.store.Put(ctx, name, b) })
}

// Create implements [Store].
func (f *Fault) Create(ctx context.Context, name string, b []byte) error {
	return f.do(ctx, OpCreate, name, func() error { return f.store.Create(ctx, name, b) })
}

// Writer implements [Store].
func (f *Fault) Writer(ctx context.Context, name string) (w Writer, err error) {
	err = f.do(ctx, OpWriter, name, func() (err error) { w, err = f.store.Writer(ctx, name); return err })
	if err != nil {
		if w != nil {
			w.Abort()
		}
		return nil, err
	}
	return &faultWriter{f: f, w: w, ctx: ctx, name: name}, nil
}

// Copy implements [Store]. Rules see the new name.
func (f *Fault) Copy(ctx context.Context, from, to string) error {
	return f.do(ctx, OpCopy, to, func() error { return f.store.Copy(ctx, from, to) })
}

// List implements [Store].
func (f *Fault) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		v, err := f.judge(ctx, OpList, prefix)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for info, err := range f.store.List(ctx, prefix) {
			if !yield(info, err) {
				return
			}
		}
		if err := v.after(prefix); err != nil {
			yield(Info{}, err)
		}
	}
}

// Delete implements [Store]. Rules see the first name.
func (f *Fault) Delete(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	v, err := f.judge(ctx, OpDelete, names[0])
	if err != nil {
		return err
	}
	if v.rule != nil && v.rule.Effect == Tear {
		names = names[:len(names)/2]
	}
	if err := f.store.Delete(ctx, names...); err != nil {
		return err
	}
	return v.after("")
}

type faultReader struct {
	Reader
	f    *Fault
	ctx  context.Context // of the Store.Open call
	name string
}

func (r *faultReader) ReadAt(p []byte, off int64) (n int, err error) {
	v, err := r.f.judge(r.ctx, OpRead, r.name)
	if err != nil {
		return 0, err
	}
	n, err = r.Reader.ReadAt(p, off)
	if verr := v.after(r.name); verr != nil {
		return n, verr
	}
	return n, err
}

type faultWriter struct {
	f    *Fault
	w    Writer
	ctx  context.Context // of the Store.Writer call
	name string
	done bool
}

func (w *faultWriter) Write(p []byte) (n int, err error) {
	v, err := w.f.judge(w.ctx, OpWrite, w.name)
	if err != nil {
		return 0, err
	}
	if v.rule != nil && v.rule.Effect == Tear {
		p = p[:len(p)/2]
	}
	if n, err = w.w.Write(p); err != nil {
		return n, err
	}
	return n, v.after(w.name)
}

func (w *faultWriter) Close() error {
	v, err := w.f.judge(w.ctx, OpClose, w.name)
	if err != nil {
		return err
	}
	w.done = true
	if err := w.w.Close(); err != nil {
		return err
	}
	return v.after(w.name)
}

// Abort frees what the writer holds even after a crash, for a test process lives on: the store sees no object either way.
func (w *faultWriter) Abort() {
	if w.done {
		return
	}
	w.done = true
	_, _ = w.f.judge(w.ctx, OpAbort, w.name)
	w.w.Abort()
}

var _ Store = (*Fault)(nil)

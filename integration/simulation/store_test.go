//go:build synctests

package simulation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"sink/flush"
	"sink/table"
	"sink/table/object"
)

var errStore = errors.New("simulated: 503 slow down")

// weather is how often calls of a store go wrong, each as a chance from 0 to 1.
type weather struct {
	before float64 // an error before the effect
	after  float64 // an error after it: the answer is lost
	exists float64 // a create that was done says that the object exists already
	unseen float64 // an object that was just made is not seen, once
	slow   float64 // a call takes up to delay
	delay  time.Duration
}

// fair is a store as it should be.
var fair weather

// store is one instance's way to the shared objects. It shares its fate with the line: held and killed alike.
type store struct {
	object.Store
	line    *line
	latency time.Duration

	mu      sync.Mutex
	rnd     *rand.Rand
	weather weather
	known   map[string]bool // objects
	refused table.Path      // a table whose files are refused for good, or so it looks; empty: none
}

func newStore(inner object.Store, l *line, latency time.Duration, rnd *rand.Rand) *store {
	return &store{Store: inner, line: l, latency: latency, rnd: rnd, known: map[string]bool{}}
}

func (s *store) set(w weather) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.weather = w
}

// refuse has the store take no file of a table, with an error that ends a checkpoint at once: the table stops.
func (s *store) refuse(t table.Path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = t
}

func (s *store) refuses(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused != "" && strings.HasPrefix(name, string(s.refused)+"/")
}

// luck is what happens to one call.
type luck struct {
	before, after, exists, unseen bool
	delay                         time.Duration
}

func (s *store) draw() luck {
	s.mu.Lock()
	defer s.mu.Unlock()
	chance := func(p float64) bool { return p > 0 && s.rnd.Float64() < p }
	l := luck{before: chance(s.weather.before), after: chance(s.weather.after), exists: chance(s.weather.exists), unseen: chance(s.weather.unseen)}
	if chance(s.weather.slow) {
		l.delay = time.Duration(s.rnd.Int64N(int64(s.weather.delay)))
	}
	return l
}

// call does one operation as the weather lets it.
func (s *store) call(ctx context.Context, name string, do func(luck) error) error {
	if err := s.line.pass(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l := s.draw()
	if wait := l.delay + s.latency; wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", name, ctx.Err())
		}
	}
	if l.before {
		return fmt.Errorf("%s: %w", name, errStore)
	}
	if err := s.line.pass(ctx); err != nil { // it may have died meanwhile
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := do(l); err != nil {
		return err
	}
	if err := s.line.pass(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if l.after {
		return fmt.Errorf("%s: %w: the answer was lost", name, errStore)
	}
	return nil
}

// blind reports whether an object is not seen yet: one that was made a moment ago, the first time that this instance looks.
func (s *store) blind(ctx context.Context, name string, l luck) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.known[name]
	fresh := false
	for info := range s.Store.List(ctx, name) {
		if info.Name == name {
			s.known[name] = true
			fresh = time.Since(info.Modified) < 2*time.Second
		}
		break
	}
	return l.unseen && first && fresh
}

// know notes that this instance has seen an object, or has made it.
func (s *store) know(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name] = true
}

func (s *store) Open(ctx context.Context, name string) (r object.Reader, err error) {
	err = s.call(ctx, name, func(luck) (err error) { r, err = s.Store.Open(ctx, name); return err })
	return r, err
}

func (s *store) Get(ctx context.Context, name string) (b []byte, err error) {
	err = s.call(ctx, name, func(l luck) (err error) {
		if s.blind(ctx, name, l) {
			return fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
		}
		b, err = s.Store.Get(ctx, name)
		return err
	})
	return b, err
}

func (s *store) Put(ctx context.Context, name string, b []byte) error {
	return s.call(ctx, name, func(luck) error { return s.Store.Put(ctx, name, b) })
}

func (s *store) Create(ctx context.Context, name string, b []byte) error {
	return s.call(ctx, name, func(l luck) error {
		err := s.Store.Create(ctx, name, b)
		if err == nil {
			s.know(name)
		}
		if err == nil && l.exists {
			err = fmt.Errorf("create %s: %w", name, fs.ErrExist)
		}
		return err
	})
}

func (s *store) Writer(ctx context.Context, name string) (object.Writer, error) {
	if s.refuses(name) {
		return nil, fmt.Errorf("%s: %w", name, flush.ErrMerge)
	}
	var w object.Writer
	err := s.call(ctx, name, func(luck) (err error) { w, err = s.Store.Writer(ctx, name); return err })
	if err != nil {
		if w != nil {
			w.Abort()
		}
		return nil, err
	}
	return &writer{Writer: w, s: s, ctx: ctx, name: name}, nil
}

func (s *store) Copy(ctx context.Context, from, to string) error {
	return s.call(ctx, to, func(luck) error { return s.Store.Copy(ctx, from, to) })
}

func (s *store) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	return func(yield func(object.Info, error) bool) {
		var infos []object.Info
		err := s.call(ctx, prefix, func(luck) error {
			for info, err := range s.Store.List(ctx, prefix) {
				if err != nil {
					return err
				}
				infos = append(infos, info)
			}
			return nil
		})
		if err != nil {
			yield(object.Info{}, err)
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *store) Delete(ctx context.Context, names ...string) error {
	return s.call(ctx, strings.Join(names, " "), func(luck) error { return s.Store.Delete(ctx, names...) })
}

// writer has its Close go through the weather; single writes are as good as the Close.
type writer struct {
	object.Writer
	s    *store
	ctx  context.Context
	name string
}

func (w *writer) Close() error {
	return w.s.call(w.ctx, w.name, func(luck) error { return w.Writer.Close() })
}

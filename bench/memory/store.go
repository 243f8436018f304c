package main

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"sink/table/object"
)

// counting counts the requests to a store, and makes each wait.
type counting struct {
	object.Store
	delay    time.Duration
	requests atomic.Int64
	latest   atomic.Int64 // when the last request that wrote something ended, nanoseconds
}

// last returns when the last object was complete.
func (s *counting) last() time.Time { return time.Unix(0, s.latest.Load()) }

// wrote notes that an object is complete.
func (s *counting) wrote(err error) error {
	s.latest.Store(time.Now().UnixNano())
	return err
}

func (s *counting) count() {
	s.requests.Add(1)
	if s.delay > 0 {
		time.Sleep(s.delay)
	}
}

func (s *counting) Open(ctx context.Context, name string) (object.Reader, error) {
	s.count()
	return s.Store.Open(ctx, name)
}

func (s *counting) Get(ctx context.Context, name string) ([]byte, error) {
	s.count()
	return s.Store.Get(ctx, name)
}

func (s *counting) Put(ctx context.Context, name string, b []byte) error {
	s.count()
	return s.wrote(s.Store.Put(ctx, name, b))
}

func (s *counting) Create(ctx context.Context, name string, b []byte) error {
	s.count()
	return s.wrote(s.Store.Create(ctx, name, b))
}

func (s *counting) Copy(ctx context.Context, from, to string) error {
	s.count()
	return s.wrote(s.Store.Copy(ctx, from, to))
}

func (s *counting) List(ctx context.Context, prefix string) iter.Seq2[object.Info, error] {
	s.count()
	return s.Store.List(ctx, prefix)
}

func (s *counting) Delete(ctx context.Context, names ...string) error {
	s.count()
	return s.Store.Delete(ctx, names...)
}

func (s *counting) Writer(ctx context.Context, name string) (object.Writer, error) {
	w, err := s.Store.Writer(ctx, name)
	return &countingWriter{Writer: w, s: s}, err
}

// countingWriter counts an object when it is complete.
type countingWriter struct {
	object.Writer
	s *counting
}

func (w *countingWriter) Close() error {
	w.s.count()
	return w.s.wrote(w.Writer.Close())
}

package object

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"
)

// probeFolder is where [Probe] works: at the root of the warehouse, never inside a table, where other writers would
// meet what it makes.
const probeFolder = "_sink-probe/"

// A probe in which an answer was lost is begun again, so many times in all, after pauses that grow from probePause.
const (
	probeTries = 5
	probePause = 200 * time.Millisecond
)

// cleanTimeout bounds the removal of the probe's object once the probe itself is over.
const cleanTimeout = 10 * time.Second

// Probe finds out whether a store keeps what [Store.Create] promises: it lets two creates of one new name race, reads the
// winner back, tries a third, lists and removes the object. [ErrNoConditionalCreate] if more than one succeeds. An answer that is lost
// proves nothing, so it begins again then. Any other error says that the store cannot be written, read, listed or cleaned, as those
// of the single calls do.
func Probe(ctx context.Context, s Store) error {
	for try := 1; ; try++ {
		err := probe(ctx, s)
		if err == nil {
			return nil
		}
		if try == probeTries || !errors.Is(err, ErrUnreachable) && !errors.Is(err, errNoWinner) {
			return fmt.Errorf("probe store: %w", err)
		}
		select {
		case <-time.After(probePause << (try - 1)):
		case <-ctx.Done():
			return fmt.Errorf("probe store: %w", err)
		}
	}
}

// errNoWinner says that both creates were told that the other had won: a request was sent twice, and the second answer came back.
var errNoWinner = errors.New("of two racing creates of a new object both were told that it exists")

func probe(ctx context.Context, s Store) error {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	name := probeFolder + hex.EncodeToString(random[:])
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		_ = s.Delete(ctx, name) // once more, whatever happened
	}()
	if err := race(ctx, s, name); err != nil {
		return err
	}
	for _, err := range s.List(ctx, name) { // schemas and tags are found by listing; what is listed does not matter here
		if err != nil {
			return err
		}
	}
	return s.Delete(ctx, name)
}

func race(ctx context.Context, s Store, name string) error {
	bodies := [][]byte{[]byte("first " + name), []byte("second " + name)}
	errs := make([]error, len(bodies))
	var g errgroup.Group
	for i := range bodies {
		g.Go(func() error {
			errs[i] = s.Create(ctx, name, bodies[i])
			return nil
		})
	}
	_ = g.Wait()
	if errs[0] == nil && errs[1] == nil {
		return ErrNoConditionalCreate
	}
	if errs[0] != nil && errs[1] != nil { // one of them should have won
		for _, err := range errs {
			if !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return errNoWinner
	}
	got, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	for i := range bodies {
		if errs[i] == nil && !bytes.Equal(got, bodies[i]) {
			return fmt.Errorf("%w: the loser of two creates overwrote the winner", ErrNoConditionalCreate)
		}
	}
	switch err := s.Create(ctx, name, bodies[0]); {
	case err == nil:
		return ErrNoConditionalCreate
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	return nil
}

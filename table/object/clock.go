package object

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// Clock tells the time by the clock that gives objects their [Info.Modified], which need not be this process's: that of the store, or of
// the server of a shared disk. It makes an object beside those of [Probe], and removes it.
func Clock(ctx context.Context, s Store) (time.Time, error) {
	now, err := clock(ctx, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at the store's clock: %w", err)
	}
	return now, nil
}

func clock(ctx context.Context, s Store) (now time.Time, err error) {
	name := probeFolder + "clock-" + rand.Text()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		if gone := s.Delete(ctx, name); err == nil {
			err = gone
		}
	}()
	if err := s.Put(ctx, name, []byte(name)); err != nil {
		return now, err
	}
	for info, err := range s.List(ctx, name) {
		if err != nil {
			return now, err
		}
		now = info.Modified
	}
	if now.IsZero() {
		return now, fmt.Errorf("%s was written, but is not listed", name)
	}
	return now, nil
}

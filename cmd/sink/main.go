package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
)

// sameStop is how long after a signal another one is the same: timeout(1) and some supervisors signal the process and then
// its group, so that it hears of one stop twice.
const sameStop = time.Second

func main() {
	zerolog.DurationFieldInteger = true // whole milliseconds
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := stopTwice(signals, stop, sameStop)
		fmt.Fprintf(os.Stderr, "sink: %v again: stopping at once\n", s)
		os.Exit(exitFailed)
	}()
	os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// stopTwice calls stop at the first signal, and returns the next one that is not the same.
func stopTwice(signals <-chan os.Signal, stop func(), same time.Duration) os.Signal {
	<-signals
	stop()
	first := time.Now()
	for s := range signals {
		if time.Since(first) >= same {
			return s
		}
	}
	return nil
}

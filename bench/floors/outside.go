package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sink/bench/internal/change"
	"sink/bench/internal/embedded"
	"sink/table/object"
)

// outside is a process beside this one, so that only this side's work is measured: a broker full of events, and an S3 server that
// keeps nothing.
type outside struct{ broker, s3 string }

// startOutside starts this program again as the other process. It ends when its input does.
func startOutside(ctx context.Context, n int) (o outside, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return o, nil, err
	}
	c := exec.CommandContext(ctx, self, "-serve", "-n", fmt.Sprint(n))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return o, nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return o, nil, err
	}
	if err = c.Start(); err != nil {
		return o, nil, err
	}
	stop = func() { _, _ = in.Close(), c.Wait() }
	if _, err = fmt.Fscanln(bufio.NewReader(out), &o.broker, &o.s3); err != nil {
		stop()
		return o, nil, fmt.Errorf("the other process tells no addresses: %w", err)
	}
	return o, stop, nil
}

// serve is what the other process does.
func serve(ctx context.Context, n int) error {
	broker, err := embedded.NewBroker()
	if err != nil {
		return err
	}
	defer broker.Close()
	if err := broker.Fill(ctx, change.Options{Seed: 1, Events: n, Mix: "updates", Hot: min(50_000, n/2), Regions: 300}, "json", nil, nil); err != nil {
		return err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(takeObject), ReadHeaderTimeout: 10 * time.Second}
	defer server.Close() //nolint:errcheck // the process ends
	go func() { _ = server.Serve(l) }()
	fmt.Fprintln(os.Stdout, broker.Address(), "http://"+l.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// takeObject answers a PUT as S3 does.
func takeObject(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil || r.Method != http.MethodPut {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("ETag", `"d41d8cd98f00b204e9800998ecf8427e"`)
}

// fileBytes is about what a file of a checkpoint has.
const fileBytes = 4 << 20

// addOutside adds the stages at both ends: what comes from Kafka, and what goes to a store.
func addOutside(add func(string, string, int, func() error) *stage, o outside, n int, folder string) error {
	add("fetch, franz-go", "event", n, func() error { return fetch(o.broker, n) })
	remote, err := object.NewS3(object.S3Config{Endpoint: o.s3, Region: "us-east-1", PathStyle: true, AccessKey: "key", SecretKey: "secret", Bucket: "bench"})
	if err != nil {
		return err
	}
	file := make([]byte, fileBytes)
	for i := range file {
		file[i] = byte(i * 7919 >> 8)
	}
	for _, to := range []struct {
		name  string
		store object.Store
	}{{"local disk", object.NewLocal(folder)}, {"S3 over HTTP", remote}} {
		const files = 16
		names := 0
		add("upload, sink: files of 4 MiB, "+to.name, "MiB", files*fileBytes>>20, func() error {
			for range files {
				names++
				if err := upload(to.store, fmt.Sprintf("bench/file-%d", names), file); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nil
}

func upload(store object.Store, name string, file []byte) error {
	w, err := store.Writer(context.Background(), name)
	if err != nil {
		return err
	}
	if _, err := w.Write(file); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// fetch reads the topic to its end.
func fetch(broker string, n int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(embedded.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	for read := 0; read < n; {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		read += fetches.NumRecords()
	}
	return nil
}

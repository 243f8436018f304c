package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"sink/bench/internal/change"
)

// contender is a program to measure, on one load.
type contender struct {
	name    string
	topic   string
	events  int
	base    bool // what the others of its topic are compared with
	run     func(round int) (sample, error)
	samples []sample
}

// sample is one run of a contender.
type sample struct {
	wall, cpu float64 // seconds; CPU of all its processes
	rss       float64 // MiB, at most, of one process
	files     float64 // data and changelog files, where they can be counted
	size      float64 // MiB of them
}

// contenders returns the programs to run, the floors first.
func contenders(o *options, chosen []load) ([]*contender, error) {
	var list []*contender
	add := func(name string, l load, run func(int) (sample, error)) *contender {
		c := &contender{name: name, topic: l.topic(), events: l.events(o), run: run}
		if o.only.MatchString(name) {
			list = append(list, c)
		}
		return c
	}
	var topics []string
	for _, l := range chosen {
		if !l.hasFloors() || slices.Contains(topics, l.topic()) {
			continue
		}
		topics = append(topics, l.topic())
		for _, floor := range [][2]string{{"consume", "fetch only"}, {"decode", "fetch and decode"}, {"full", "prototype"}} {
			c := add(fmt.Sprintf("%s, %s", floor[1], l.name), l, func(round int) (sample, error) { return l.floor(o, floor[0], round) })
			c.base = floor[0] == "full"
		}
	}
	for _, l := range chosen {
		for name := range strings.FieldsFuncSeq(o.peers, func(r rune) bool { return r == ',' }) {
			if l.hasPeer(name) {
				rows := l.rows(o)
				add(fmt.Sprintf("peer %s, %s", name, l.name), l, func(round int) (sample, error) { return l.peer(o, name, rows, round) })
			}
		}
	}
	for _, l := range chosen {
		for store := range strings.SplitSeq(o.stores, ",") {
			if store == "memory" {
				if l.tables > 1 || l.dated || l.name == "inserts-twice" {
					continue
				}
				for _, procs := range []int{1, runtime.NumCPU()} {
					add(fmt.Sprintf("%s, memory, %d cores", l.name, procs), l, func(int) (sample, error) { return l.inMemory(o, procs) })
				}
				continue
			}
			variants, err := variants(o)
			if err != nil {
				return nil, err
			}
			for _, v := range variants {
				name := fmt.Sprintf("%s, %s, %s", filepath.Base(v.binary), l.name, store)
				if v.instances > 1 {
					name += fmt.Sprintf(", %d processes", v.instances)
				}
				if v.memory != "" {
					name += ", memory " + v.memory
				}
				id := fmt.Sprintf("%s-%s-%s-%d-%s", filepath.Base(v.binary), l.name, store, v.instances, v.memory)
				add(name, l, func(round int) (sample, error) { return l.sink(o, v, store, fmt.Sprintf("%s-%d", id, round)) })
			}
		}
	}
	return list, nil
}

// hasFloors reports whether the prototype can read the load: it knows one table, in JSON.
func (l *load) hasFloors() bool {
	return strings.HasPrefix(l.format, "json") && l.columns == change.Least && l.tables == 1
}

// hasPeer reports whether a peer can read the load: they know one table, and the action finds no classes for Avro; see peers/run.
func (l *load) hasPeer(name string) bool {
	return l.columns == change.Least && l.tables == 1 && l.buckets == plain.buckets && !l.dated && (l.format != "avro" || name != "flink-action")
}

// peer runs another writer until it has committed the changelog's rows.
func (l *load) peer(o *options, name string, rows, round int) (sample, error) {
	dir := filepath.Join(o.work, fmt.Sprintf("peer-%s-%s-%d", name, l.name, round))
	s, err := measure([]string{o.peerScript(), name, o.broker, l.topic(), fmt.Sprint(l.events(o)), fmt.Sprint(rows), dir, l.format, o.registry})
	return s, errors.Join(err, os.RemoveAll(dir))
}

// floor runs the prototype.
func (l *load) floor(o *options, mode string, round int) (sample, error) {
	dir := filepath.Join(o.work, fmt.Sprintf("prototype-%d", round))
	s, err := measure([]string{o.tool("prototype"), "-broker", o.broker, "-topic", l.topic(), "-n", fmt.Sprint(l.events(o)), "-mode", mode, "-dir", dir})
	return s, errors.Join(err, os.RemoveAll(dir))
}

// variant is a way to run the sink.
type variant struct {
	binary, memory string
	instances      int
}

// variants returns all ways that the flags ask for.
func variants(o *options) (list []variant, err error) {
	for binary := range strings.SplitSeq(o.sinks, ",") {
		for text := range strings.SplitSeq(o.instances, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("-instances: %w", err)
			}
			for memory := range strings.SplitSeq(o.memories, ",") {
				list = append(list, variant{binary, memory, n})
			}
		}
	}
	return list, nil
}

// sink runs the sink to the end of its topics.
func (l *load) sink(o *options, v variant, store, id string) (sample, error) {
	dir := filepath.Join(o.work, "warehouse-"+id)
	warehouse := "file://" + dir
	if store == "s3" {
		warehouse = fmt.Sprintf("s3://%s/%s", s3Bucket, id)
		dir = filepath.Join(o.work, "s3", "data", s3Bucket, id)
	}
	config, err := l.writeConfig(o, id, warehouse, v.memory)
	if err != nil {
		return sample{}, err
	}
	commands := make([][]string, v.instances)
	for i := range commands {
		commands[i] = []string{v.binary, "run", "-c", config, "--until-end"}
	}
	s, err := measure(commands...)
	if err != nil || o.keep {
		return s, err
	}
	if store == "disk" {
		err = s.count(dir)
	}
	return s, errors.Join(err, os.RemoveAll(dir))
}

// inMemory runs the sink with broker and store in its own process.
func (l *load) inMemory(o *options, procs int) (sample, error) {
	var out bytes.Buffer
	c := command(o.tool("memory"), "-n", fmt.Sprint(l.events(o)), "-format", l.format, "-mix", l.mix, "-columns", fmt.Sprint(l.columns),
		"-buckets", fmt.Sprint(l.buckets), "-procs", fmt.Sprint(procs), "-checkpoint", o.interval.String())
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return sample{}, err
	}
	fmt.Fprint(os.Stderr, out.String())
	var s sample
	var rate, whole float64
	_, err := fmt.Sscanf(out.String(), "RESULT work_s=%f events_per_s=%f wall_s=%f cpu_s=%f", &s.wall, &rate, &whole, &s.cpu)
	return s, err
}

// count finds the data and changelog files below a folder.
func (s *sample) count(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".parquet") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			s.files++
			s.size += float64(info.Size()) / (1 << 20)
		}
		return err
	})
}

// measure runs programs side by side to their ends.
func measure(list ...[]string) (sample, error) {
	var s sample
	var failed error
	began := time.Now()
	commands := make([]*exec.Cmd, len(list))
	for i, args := range list {
		commands[i] = command(args[0], args[1:]...)
		if failed = errors.Join(failed, commands[i].Start()); failed != nil {
			return s, failed
		}
	}
	for _, c := range commands {
		failed = errors.Join(failed, c.Wait())
		s.cpu += (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			s.rss = max(s.rss, float64(usage.Maxrss>>10))
		}
	}
	s.wall = time.Since(began).Seconds()
	return s, failed
}

// command prepares a program whose output goes to stderr, and which ends with this one.
func command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), name, args...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if len(args) > 0 && args[0] == "run" { // the sink tells of every commit
		c.Stderr = problems{}
	}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return c
}

// problems passes on what the sink says but for the lines of its log that are no errors.
type problems struct{}

func (problems) Write(b []byte) (int, error) {
	if b[0] != '{' || bytes.Contains(b, []byte(`"level":"error"`)) {
		_, _ = os.Stderr.Write(b)
	}
	return len(b), nil
}

// report prints the medians, and what they are of the prototype on the same topic, or on the plain one where it cannot read that.
func report(list []*contender) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "program\tevents/s\tCPU-s per 1M events\tover prototype\tpeak RSS MiB\tfiles\tMiB")
	bases := map[string]float64{}
	for _, c := range list {
		cpu := c.cpu()
		if c.base {
			bases[c.topic] = cpu
		}
		ratio := "-"
		if base := cmp.Or(bases[c.topic], bases[plain.topic()]); base > 0 {
			ratio = fmt.Sprintf("%.2f", cpu/base)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%s\t%.0f\t%.0f\t%.1f\n", c.name, float64(c.events)/c.median(func(s sample) float64 { return s.wall }), cpu, ratio,
			c.median(func(s sample) float64 { return s.rss }), c.median(func(s sample) float64 { return s.files }), c.median(func(s sample) float64 { return s.size }))
	}
	return w.Flush()
}

// cpu is the median of CPU seconds for a million events.
func (c *contender) cpu() float64 {
	return c.median(func(s sample) float64 { return s.cpu }) * 1e6 / float64(c.events)
}

func (c *contender) median(value func(sample) float64) float64 {
	if len(c.samples) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(c.samples), func(a, b sample) int { return cmp.Compare(value(a), value(b)) })
	return value(sorted[len(sorted)/2])
}

// e2e is the consuming side of the floors: what a Go sink cannot go below on a
// real topic. Modes: consume (nothing), goccy|sonic|std|hand (+ decode),
// full (hand decode -> murmur bucket -> columns -> radix sort -> changelog and
// merged data Parquet files of 4 buckets every -commit events, fsynced; no
// manifests or snapshots).
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"

	"sink/bench/internal/ev"
	"sink/bench/internal/pq"

	"github.com/twmb/franz-go/pkg/kgo"
)

type batch struct {
	b   [4]pq.Cols
	n   int
	seq int
}

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

func main() {
	broker := flag.String("broker", "127.0.0.1:22092", "bootstrap")
	topic := flag.String("topic", "", "topic")
	n := flag.Int("n", 1_000_000, "events to read")
	mode := flag.String("mode", "consume", "consume|std|goccy|sonic|hand|full")
	commit := flag.Int("commit", 100_000, "events per commit (full)")
	dir := flag.String("dir", "", "output directory (full)")
	procs := flag.Int("procs", 2, "GOMAXPROCS")
	memMiB := flag.Int64("mem", 512, "GOMEMLIMIT in MiB")
	prof := flag.String("cpuprofile", "", "write a CPU profile")
	flag.Parse()
	if *prof != "" {
		f, err := os.Create(*prof)
		if err != nil {
			log.Fatal(err)
		}
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	runtime.GOMAXPROCS(*procs)
	debug.SetMemoryLimit(*memMiB << 20)
	debug.SetGCPercent(400)

	cl, err := kgo.NewClient(kgo.SeedBrokers(*broker), kgo.ConsumeTopics(*topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchMaxBytes(16<<20), kgo.FetchMinBytes(1<<16))
	if err != nil {
		log.Fatal(err)
	}
	var dec func([]byte, *ev.Event) error
	switch *mode {
	case "std":
		dec = ev.Std
	case "goccy":
		dec = ev.Goccy
	case "sonic":
		dec = ev.SonicFast
	case "hand", "full":
		dec = ev.Hand
	}
	full := make(chan *batch, 1)
	free := make(chan *batch, 2)
	var files int
	var bytes, rows, dataRows int64
	var wg sync.WaitGroup
	if *mode == "full" {
		os.MkdirAll(*dir, 0o755)
		for range 2 {
			b := &batch{}
			for i := range b.b {
				b.b[i].Reset()
			}
			free <- b
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := pq.NewColsWriter(1)
			for b := range full {
				for i := range b.b {
					c := &b.b[i]
					idx := sortIdx(c.ID)
					last := idx[:0:0]
					for k := range idx {
						if k+1 == len(idx) || c.ID[idx[k+1]] != c.ID[idx[k]] {
							last = append(last, idx[k])
						}
					}
					for _, f := range []struct {
						name string
						idx  []int32
					}{{"changelog", idx}, {"data", last}} {
						p := filepath.Join(*dir, fmt.Sprintf("%s-%d-%d.parquet", f.name, b.seq, i))
						o, err := os.Create(p)
						if err != nil {
							log.Fatal(err)
						}
						bw := bufio.NewWriterSize(o, 1<<18)
						if err := w.Write(bw, c, f.idx); err != nil {
							log.Fatal(err)
						}
						bw.Flush()
						o.Sync()
						st, _ := o.Stat()
						o.Close()
						files++
						bytes += st.Size()
					}
					rows += int64(len(idx))
					dataRows += int64(len(last))
					c.Reset()
				}
				free <- b
			}
		}()
	}

	t0, c0 := time.Now(), cpu()
	var got, vb, seq int
	var e ev.Event
	intern := map[string]string{}
	var cur *batch
	nb := 0
	for got < *n {
		fs := cl.PollFetches(context.Background())
		if err := fs.Err(); err != nil {
			log.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			got++
			vb += len(r.Value)
			if dec == nil {
				return
			}
			if err := dec(r.Value, &e); err != nil {
				log.Fatal(err)
			}
			if *mode != "full" {
				return
			}
			if cur == nil {
				cur = <-free
				cur.n, cur.seq = 0, nb
				nb++
			}
			var id int64
			if e.HasAfter {
				id = e.After.ID
			} else {
				id = e.Before.ID
			}
			c := &cur.b[bucket(id, 4)]
			switch e.Op {
			case 'c', 'r':
				c.Add(int64(seq), 0, &e.After, intern)
				seq++
			case 'u':
				c.Add(int64(seq), 1, &e.Before, intern)
				c.Add(int64(seq+1), 2, &e.After, intern)
				seq += 2
			case 'd':
				c.Add(int64(seq), 3, &e.Before, intern)
				seq++
			}
			if cur.n++; cur.n == *commit || got == *n {
				full <- cur
				cur = nil
			}
		})
	}
	close(full)
	wg.Wait()
	wall, c := time.Since(t0).Seconds(), cpu()-c0
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	fmt.Printf("RESULT e2e mode=%s events=%d wall_s=%.2f cpu_s=%.2f ev_per_s=%.0f ev_per_cpu_s=%.0f value_MB_per_cpu_s=%.1f maxrss_mib=%d files=%d bytes=%d changelog_rows=%d data_rows=%d\n",
		*mode, got, wall, c, float64(got)/wall, float64(got)/c, float64(vb)/1e6/c, ru.Maxrss/1024, files, bytes, rows, dataRows)
}

// sortIdx is a stable LSD radix sort of row indices by key.
func sortIdx(keys []int64) []int32 {
	type ks struct {
		k int64
		i int32
	}
	s, d := make([]ks, len(keys)), make([]ks, len(keys))
	var or, and int64 = 0, -1
	for i, k := range keys {
		s[i] = ks{k, int32(i)}
		or |= k
		and &= k
	}
	for sh := uint(0); sh < 64; sh += 8 {
		if byte((or^and)>>sh) == 0 {
			continue
		}
		var cnt [257]int
		for i := range s {
			cnt[int(byte(s[i].k>>sh))+1]++
		}
		for i := 1; i < 257; i++ {
			cnt[i] += cnt[i-1]
		}
		for i := range s {
			j := byte(s[i].k >> sh)
			d[cnt[j]] = s[i]
			cnt[j]++
		}
		s, d = d, s
	}
	out := make([]int32, len(keys))
	for i := range s {
		out[i] = s[i].i
	}
	return out
}

func bucket(id int64, n int32) int {
	mix := func(h, k uint32) uint32 {
		k *= 0xcc9e2d51
		k = k<<15 | k>>17
		k *= 0x1b873593
		h ^= k
		h = h<<13 | h>>19
		return h*5 + 0xe6546b64
	}
	h := uint32(42)
	h = mix(mix(h, 0), 0)
	h = mix(mix(h, uint32(id)), uint32(id>>32))
	h ^= 16
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	v := int32(h) % n
	if v < 0 {
		v = -v
	}
	return int(v)
}

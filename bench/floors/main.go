// floors measures, on one core, what each stage of a Go sink costs at least.
// Usage: floors -file events.jsonl [-n 100000] [-skip 300000] [-rounds 5] [-only decode|encode|sort]
// Rounds are interleaved over all cases; CPU seconds (getrusage) are what is compared.
package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"sink/bench/internal/ev"
	"sink/bench/internal/pq"
)

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

type res struct {
	name       string
	cpu, wall  []float64
	items      int
	unit       string
	bytes, out int64
}

type count int64

func (c *count) Write(b []byte) (int, error) { *c += count(len(b)); return len(b), nil }

func main() {
	file := flag.String("file", "", "JSONL")
	n := flag.Int("n", 100_000, "events")
	skip := flag.Int("skip", 300_000, "lines to skip first")
	rounds := flag.Int("rounds", 5, "rounds")
	only := flag.String("only", "", "decode|encode|sort")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	f, err := os.Open(*file)
	if err != nil {
		log.Fatal(err)
	}
	sc := bufio.NewScanner(bufio.NewReaderSize(f, 1<<20))
	sc.Buffer(nil, 1<<20)
	var lines [][]byte
	var jsonBytes int64
	for i := 0; sc.Scan() && len(lines) < *n; i++ {
		if i >= *skip {
			lines = append(lines, slices.Clone(sc.Bytes()))
			jsonBytes += int64(len(sc.Bytes()))
		}
	}
	f.Close()

	// reference decode, and check that all decoders agree
	events := make([]ev.Event, len(lines))
	for i, l := range lines {
		if err := ev.Std(l, &events[i]); err != nil {
			log.Fatal(err)
		}
	}
	for _, d := range ev.Decoders() {
		for i := 0; i < 2000; i++ {
			var e ev.Event
			if err := d.F(lines[i], &e); err != nil {
				log.Fatalf("%s: %v", d.Name, err)
			}
			r := events[i]
			if e != r {
				log.Fatalf("%s: line %d: got %+v want %+v", d.Name, i, e, r)
			}
		}
	}

	var all []*res
	var cases []func()
	add := func(name string, items int, unit string, bytes int64, fn func() int64) {
		r := &res{name: name, items: items, unit: unit, bytes: bytes}
		all = append(all, r)
		cases = append(cases, func() {
			runtime.GC()
			c, w := cpu(), time.Now()
			r.out = fn()
			r.cpu, r.wall = append(r.cpu, cpu()-c), append(r.wall, time.Since(w).Seconds())
		})
	}
	if *only == "" || *only == "decode" {
		for _, d := range ev.Decoders() {
			add("decode "+d.Name, len(lines), "events", jsonBytes, func() int64 {
				var e ev.Event
				for _, l := range lines {
					if err := d.F(l, &e); err != nil {
						log.Fatal(err)
					}
				}
				return 0
			})
		}
	}

	// changelog rows of the window, bucketed and sorted as Paimon would
	var rows []pq.KV
	for i := range events {
		e := &events[i]
		s := int64(len(rows))
		switch e.Op {
		case 'c':
			rows = append(rows, pq.KV{Seq: s, Kind: 0, Row: &e.After})
		case 'u':
			rows = append(rows, pq.KV{Seq: s, Kind: 1, Row: &e.Before}, pq.KV{Seq: s + 1, Kind: 2, Row: &e.After})
		case 'd':
			rows = append(rows, pq.KV{Seq: s, Kind: 3, Row: &e.Before})
		}
	}
	buckets := make([][]pq.KV, 4)
	for _, kv := range rows {
		b := bucket(kv.Row.ID, 4)
		buckets[b] = append(buckets[b], kv)
	}
	sorted := make([][]pq.KV, 4)
	merged := 0
	for i := range buckets {
		sorted[i] = slices.Clone(buckets[i])
		slices.SortFunc(sorted[i], byKey)
		for j := range sorted[i] {
			if j+1 == len(sorted[i]) || sorted[i][j+1].Row.ID != sorted[i][j].Row.ID {
				merged++
			}
		}
	}
	fmt.Printf("events=%d json_MB=%.1f changelog_rows=%d merged_data_rows=%d go=%s gomaxprocs=1\n", len(lines), float64(jsonBytes)/1e6, len(rows), merged, runtime.Version())

	if *only == "" || *only == "encode" {
		var plain count
		for _, w := range pq.Writers() {
			if w.Name == "hand plain none" {
				for _, b := range sorted {
					w.F(&plain, b)
				}
			}
		}
		for _, w := range pq.Writers() {
			add("encode "+w.Name, len(rows), "rows", int64(plain), func() int64 {
				var c count
				for _, b := range sorted {
					if err := w.F(&c, b); err != nil {
						log.Fatal(err)
					}
				}
				return int64(c)
			})
		}
	}
	if *only == "" || *only == "sort" {
		add("murmur bucket", len(rows), "rows", 0, func() int64 {
			var x int
			for i := range rows {
				x += bucket(rows[i].Row.ID, 4)
			}
			return int64(x)
		})
		tmp := make([]pq.KV, len(rows))
		add("sort.SortFunc (id,seq) KV structs, 4 buckets", len(rows), "rows", 0, func() int64 {
			for _, b := range buckets {
				t := tmp[:copy(tmp, b)]
				slices.SortFunc(t, byKey)
			}
			return 0
		})
		type ks struct {
			k int64
			i int32
		}
		ktmp := make([]ks, len(rows))
		add("sort.SortFunc 16-byte key+index, 4 buckets", len(rows), "rows", 0, func() int64 {
			for _, b := range buckets {
				t := ktmp[:len(b)]
				for i := range b {
					t[i] = ks{b[i].Row.ID, int32(i)}
				}
				slices.SortFunc(t, func(a, b ks) int {
					if a.k != b.k {
						return cmp.Compare(a.k, b.k)
					}
					return int(a.i - b.i)
				})
			}
			return 0
		})
		kt2 := make([]ks, len(rows))
		add("LSD radix key+index (varying bytes only), 4 buckets", len(rows), "rows", 0, func() int64 {
			for _, b := range buckets {
				s, d := ktmp[:len(b)], kt2[:len(b)]
				var or, and int64 = 0, -1
				for i := range b {
					s[i] = ks{b[i].Row.ID, int32(i)}
					or |= s[i].k
					and &= s[i].k
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
			}
			return 0
		})
		buf := make([]byte, 64<<20)
		add("sha256 64 MiB", len(buf)>>20, "MiB", int64(len(buf)), func() int64 { h := sha256.Sum256(buf); return int64(h[0]) })
		cc := crc32.MakeTable(crc32.Castagnoli)
		add("crc32c 64 MiB (Kafka batches)", len(buf)>>20, "MiB", int64(len(buf)), func() int64 { return int64(crc32.Checksum(buf, cc)) })
		add("memcpy 64 MiB", len(buf)>>20, "MiB", int64(len(buf)), func() int64 { return int64(copy(buf[:32<<20], buf[32<<20:])) })
	}
	for r := 0; r <= *rounds; r++ { // round 0 warms up
		for i, c := range cases {
			c()
			if r == 0 {
				all[i].cpu, all[i].wall = all[i].cpu[:0], all[i].wall[:0]
			}
		}
	}
	fmt.Printf("%-52s %10s %10s %12s %9s %10s\n", "case", "min_us/it", "med_us/it", "items/s/core", "MB/s", "out_bytes")
	for _, r := range all {
		slices.Sort(r.cpu)
		mn, md := r.cpu[0], r.cpu[len(r.cpu)/2]
		fmt.Printf("%-52s %10.3f %10.3f %12.0f %9.1f %10d %s\n", r.name, mn/float64(r.items)*1e6, md/float64(r.items)*1e6, float64(r.items)/mn, float64(r.bytes)/mn/1e6, r.out, r.unit)
	}
	_ = io.Discard
	_ = strings.TrimSpace
}

func byKey(a, b pq.KV) int {
	if a.Row.ID != b.Row.ID {
		return cmp.Compare(a.Row.ID, b.Row.ID)
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// bucket is Paimon's default bucket function for a single BIGINT key: murmur3_32
// (seed 42) over the 16-byte BinaryRow, abs(hash % n).
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
	h = mix(h, 0)
	h = mix(h, 0)
	h = mix(h, uint32(id))
	h = mix(h, uint32(id>>32))
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

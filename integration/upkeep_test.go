//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// paimonScript writes random changes as the real Paimon, and knows what the rows should be.
type paimonScript struct {
	r       *rand.Rand
	rows    map[int64]string
	version int
	commits int
}

const upkeepTable = `{"op":"create","columns":[{"name":"id","type":"BIGINT NOT NULL"},{"name":"v","type":"STRING"}],"primaryKeys":["id"],"partitionKeys":[],` +
	`"options":{"bucket":"2","changelog-producer":"input","num-sorted-run.compaction-trigger":"3","snapshot.num-retained.min":"2",` +
	`"snapshot.num-retained.max":"4","changelog.num-retained.max":"1000","changelog.time-retained":"10 d"}}`

// write makes commits of 30 changes each.
func (s *paimonScript) write(t *testing.T, x target, commits int, flags ...string) {
	t.Helper()
	var b strings.Builder
	if s.commits == 0 {
		b.WriteString(upkeepTable + "\n")
	}
	line := func(kind string, id int64, v string) {
		row, err := json.Marshal(map[string]any{"kind": kind, "row": map[string]any{"id": id, "v": v}})
		require.NoError(t, err)
		b.Write(append(row, '\n'))
	}
	for range commits {
		for range 30 {
			id := s.r.Int64N(60)
			s.version++
			v := fmt.Sprintf("v%d", s.version)
			before, there := s.rows[id]
			switch {
			case !there:
				line("+I", id, v)
				s.rows[id] = v
			case s.r.IntN(3) == 0:
				line("-D", id, before)
				delete(s.rows, id)
			default:
				line("-U", id, before)
				line("+U", id, v)
				s.rows[id] = v
			}
		}
		s.commits++
		fmt.Fprintf(&b, `{"op":"commit","id":%d}`+"\n", s.commits)
	}
	s.run(t, x, b.String(), flags...)
}

func (s *paimonScript) run(t *testing.T, x target, script string, flags ...string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(script), 0o644))
	shared.java.must(t, x.java("write", append([]string{"--input", name}, flags...)...)...)
}

// check has all readers see the rows, and both verifiers find nothing.
func (s *paimonScript) check(t *testing.T, x target) {
	t.Helper()
	var want []string
	for id, v := range s.rows {
		want = append(want, fmt.Sprintf(`{"id":%d,"v":"%s"}`, id, v))
	}
	requireSameLines(t, sorted(want), sorted(x.agreed(t)), "%s", x.name)
	x.fsck(t)
	sink(t, x.cli("verify", "--strict")...)
}

// TestUpkeep: the sink compacts, tags and expires a table that real Paimon writes, compacts and expires, too. Both go on from
// the other's work, every reader sees the rows after each step, and the whole changelog stays.
func TestUpkeep(t *testing.T) {
	for _, kind := range []string{disk, s3} {
		t.Run(kind, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			s := &paimonScript{r: rand.New(rand.NewPCG(seed, 1)), rows: map[int64]string{}}
			x := newLake(t, kind).table("life.mixed")
			s.write(t, x, 6, "--option", "write-only=true")
			sink(t, x.cli("compact")...)
			sink(t, x.cli("expire")...)
			s.check(t, x)

			s.write(t, x, 6) // Paimon compacts and expires by itself
			sink(t, append([]string{"tag", "create", x.name, "kept"}, x.cli("")[2:]...)...)
			kept := x.agreed(t)
			sink(t, x.cli("compact", "--full")...)
			sink(t, x.cli("expire", "--retain-max", "1", "--retain-min", "1")...)
			s.check(t, x)

			s.write(t, x, 4, "--option", "write-only=true")
			s.run(t, x, `{"op":"compact"}`+"\n"+`{"op":"expire","retain-max":2,"changelog-retain-max":1000}`+"\n", "--user", "other")
			sink(t, x.cli("compact")...)
			s.check(t, x)
			require.Equal(t, sorted(kept), sorted(lines(shared.java.must(t, x.java("rows", "--tag", "kept")...))), "the tag holds its rows")

			sink(t, append([]string{"tag", "delete", x.name, "kept"}, x.cli("")[2:]...)...)
			sink(t, x.cli("expire")...)
			s.check(t, x)

			rows := map[string]bool{}
			for _, c := range x.changes(t) {
				row := string(c.Row)
				if c.Kind == "-U" || c.Kind == "-D" {
					require.True(t, rows[row], "%s %s: it is not there", c.Kind, row)
					delete(rows, row)
				} else {
					rows[row] = true
				}
			}
			require.Len(t, rows, len(s.rows), "the changelog gives the rows")
			require.Empty(t, strings.TrimSpace(strings.TrimPrefix(sink(t, x.cli("orphans", "--older-than", "0s", "--no-writers", "-o", "csv")...), "file,bytes,modified")))
		})
	}
}

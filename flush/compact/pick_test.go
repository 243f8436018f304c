package compact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
)

// runsOf makes runs of "level:size" words, newest first.
func runsOf(t *testing.T, text string) []SortedRun {
	var files []table.File
	for i, word := range strings.Fields(text) {
		f := table.File{Name: fmt.Sprint(i), MaxSeq: int64(1000 - i)}
		word, deletes := strings.CutSuffix(word, "-")
		if deletes {
			f.DeleteRows = 1
		}
		_, err := fmt.Sscanf(word, "%d:%d", &f.Level, &f.SizeBytes)
		require.NoError(t, err)
		files = append(files, f)
	}
	return Runs(files)
}

// describe is a job as "files -> level", with a star when retractions are dropped.
func describe(j Job, ok bool) string {
	if !ok {
		return "-"
	}
	var names []string
	for _, f := range j.Files {
		names = append(names, fmt.Sprintf("%d:%d", f.Level, f.SizeBytes))
	}
	drop := ""
	if j.DropDeletes {
		drop = "*"
	}
	return fmt.Sprintf("%s -> %d%s", strings.Join(names, " "), j.OutputLevel, drop)
}

func TestPick(t *testing.T) {
	three := Options{Trigger: 3, Levels: 4, SizeRatio: 1, MaxAmplification: 200}
	lookup := Options{Trigger: 5, Levels: 4, SizeRatio: 1, MaxAmplification: 200, LooksUp: true}
	five := Options{Trigger: 5, Levels: 6, SizeRatio: 1, MaxAmplification: 200}
	for _, c := range []struct {
		name    string
		options Options
		runs    string
		want    string
	}{
		{"nothing there", three, "", "-"},
		{"below the trigger", three, "0:1 0:1", "-"},
		{"amplification takes all to the top", three, "0:1 0:1 0:1 3:1", "0:1 0:1 0:1 3:1 -> 3*"},
		{"amplification is a limit that is kept exactly", three, "0:1 0:1 3:1", "0:1 0:1 3:1 -> 3*"}, // by ratio: 2 >= 1
		{"only level 0", three, "0:1 0:1 0:1", "0:1 0:1 0:1 -> 3*"},
		{"ratio takes what is alike", three, "0:1 0:1 3:100", "0:1 0:1 -> 2"},
		{"ratio counts one percent", three, "0:100 0:101 3:9999", "0:100 0:101 -> 2"},
		{"but no more", three, "0:100 0:102 3:9999", "-"},
		{"ratio grows with what it takes", three, "0:1 0:1 2:2 3:100", "0:1 0:1 2:2 -> 2"},
		{"a job of one run is none by ratio", three, "0:1 0:5 3:100", "-"},
		{"count takes the newest runs", three, "0:1 1:5 2:50 3:1000", "0:1 1:5 -> 1"},
		{"but all of level 0, and what that meets", three, "0:1 0:5 0:50 3:1000", "0:1 0:5 0:50 3:1000 -> 3*"},
		{"count extends by ratio", three, "0:1 0:50 2:50 3:1000", "0:1 0:50 2:50 -> 2"},
		{"a job that would end in level 0 takes what is in the way", five, "0:1 0:1 0:9 0:20 4:50 5:500", "0:1 0:1 0:9 0:20 4:50 -> 4"},
		{"right above level 1 there is nothing: it is taken, too", five, "0:1 0:1 1:30 2:40 5:500", "0:1 0:1 1:30 -> 1"},
		{"all the way down is the top", five, "0:1 0:1 0:9 0:20 1:50", "0:1 0:1 0:9 0:20 1:50 -> 5*"},
		{"levels above num-levels stay the top", three, "0:1 0:1 0:1 7:1", "0:1 0:1 0:1 7:1 -> 7*"},
		{"right above a level beyond num-levels", three, "0:1 0:1 7:100", "0:1 0:1 -> 6"},
		{"a trigger of one", Options{Trigger: 1, Levels: 2, MaxAmplification: 200}, "0:5", "-"},
		{"looking up leaves nothing in level 0", lookup, "0:1 3:100", "0:1 -> 2"},
		{"looking up takes what is alike, too", lookup, "0:1 0:1 2:2 3:100", "0:1 0:1 2:2 -> 2"},
		{"looking up takes a level that is in the way", lookup, "0:1 1:50 3:100", "0:1 1:50 -> 1"},
		{"looking up wants nothing else", lookup, "2:1 3:100", "-"},
		{"amplification of 0 is always full", Options{Trigger: 3, Levels: 4}, "0:1 0:1 3:1000", "0:1 0:1 3:1000 -> 3*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, describe(c.options.Pick(runsOf(t, c.runs))))
		})
	}
}

func TestPickFull(t *testing.T) {
	o := Options{Trigger: 5, Levels: 6, SizeRatio: 1, MaxAmplification: 200}
	for runs, want := range map[string]string{
		"":            "-",
		"0:1":         "0:1 -> 5*",
		"5:1":         "-",
		"5:1-":        "5:1 -> 5*",
		"4:1":         "4:1 -> 5*",
		"0:1 5:1000":  "0:1 5:1000 -> 5*",
		"0:1 9:1000":  "0:1 9:1000 -> 9*",
		"9:1000":      "-",
		"0:1 0:1 0:1": "0:1 0:1 0:1 -> 5*",
	} {
		require.Equal(t, want, describe(o.PickFull(runsOf(t, runs))), runs)
	}
}

func TestRunsOrder(t *testing.T) {
	runs := Runs([]table.File{
		{Name: "deep1", Level: 5, SizeBytes: 1}, {Name: "old", MaxSeq: 10, SizeBytes: 2}, {Name: "deep2", Level: 5, SizeBytes: 4},
		{Name: "new", MaxSeq: 30, MinSeq: 20}, {Name: "mid", Level: 2, MaxSeq: 99}, {Name: "same", MaxSeq: 30, MinSeq: 5},
	})
	var names []string
	for _, r := range runs {
		for _, f := range r.Files {
			names = append(names, fmt.Sprintf("%d %s", r.Level, f.Name))
		}
	}
	require.Equal(t, []string{"0 same", "0 new", "0 old", "2 mid", "5 deep1", "5 deep2"}, names)
	require.EqualValues(t, 5, runs[len(runs)-1].SizeBytes)
}

func TestOptions(t *testing.T) {
	of := func(options map[string]string) (Options, error) {
		return OptionsOf(table.NewSchema([]table.Field{{Name: "id", Type: table.Type{Root: table.Int}}}, []string{"id"}, nil, options))
	}
	o, err := of(nil)
	require.NoError(t, err)
	require.Equal(t, Options{Trigger: 5, StopTrigger: 8, Levels: 6, SizeRatio: 1, MaxAmplification: 200, TargetFileSize: 128 << 20, MinFiles: 5}, o)
	o, err = of(map[string]string{
		"num-sorted-run.compaction-trigger": "3", "num-sorted-run.stop-trigger": "2", "target-file-size": "1 mb", "write-only": "true",
		"compaction.size-ratio": "7", "compaction.max-size-amplification-percent": "50", "num-levels": "9", "compaction.min.file-num": "7",
	})
	require.NoError(t, err)
	require.Equal(t, Options{Trigger: 3, StopTrigger: 3, Levels: 9, SizeRatio: 7, MaxAmplification: 50, TargetFileSize: 1 << 20, WriteOnly: true, MinFiles: 7}, o)
	_, err = of(map[string]string{"num-levels": "many", "compaction.size-ratio": "x"})
	require.ErrorContains(t, err, "num-levels")
	require.ErrorContains(t, err, "compaction.size-ratio")
}

// TestPickBounds lets a bucket grow for long, and finds the number of runs, and what is written again, within the bounds
// that universal compaction promises.
func TestPickBounds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 8 {
		o := Options{Trigger: 2 + r.IntN(6), SizeRatio: r.IntN(20), MaxAmplification: 50 + r.IntN(300)}
		o.Levels = o.Trigger + 1
		var files []table.File
		var added, written int64
		for seq := range int64(800) {
			f := table.File{Name: fmt.Sprint(seq), MaxSeq: seq, SizeBytes: 50 + r.Int64N(100)}
			added += f.SizeBytes
			files = append(files, f)
			for {
				runs := Runs(files)
				j, ok := o.Pick(runs)
				if !ok {
					require.LessOrEqual(t, len(runs), o.Trigger)
					break
				}
				require.Positive(t, j.OutputLevel)
				taken := map[string]bool{}
				for _, f := range j.Files {
					taken[f.Name] = true
				}
				left := files[:0:0]
				for _, f := range files {
					if !taken[f.Name] {
						require.Greater(t, f.Level, j.OutputLevel, "level 0 never stays, nor what lies above the output")
						left = append(left, f)
					}
				}
				written += j.SizeBytes()
				files = append(left, table.File{Name: "c" + fmt.Sprint(written), Level: j.OutputLevel, MaxSeq: seq, SizeBytes: j.SizeBytes()})
			}
		}
		if o.Trigger >= 5 {
			require.Less(t, written, added*60, "write amplification")
		}
	}
}

package compact

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"sink/table"
)

// Options say when and how to compact. They are table options of Paimon (org.apache.paimon.CoreOptions).
type Options struct {
	Trigger          int   // num-sorted-run.compaction-trigger: runs from which a bucket is worth a look
	StopTrigger      int   // num-sorted-run.stop-trigger: runs at which writers wait for compaction
	Levels           int   // num-levels, level 0 included
	SizeRatio        int   // compaction.size-ratio, percent
	MaxAmplification int   // compaction.max-size-amplification-percent
	TargetFileSize   int64 // target-file-size, bytes
	WriteOnly        bool  // write-only: others compact and expire
	TopTells         bool  // what is in the changelog are the rows of the highest level: producer full-compaction
	LooksUp          bool  // rows of level 0 are brought up as soon as can be, see table.Schema.LooksUp
	FullEvery        int64 // full-compaction.delta-commits: commits after which all is compacted; 0: never for that

	Append   bool // an append table: of the above only the file size and WriteOnly count
	MinFiles int  // compaction.min.file-num: small files of an append table that are worth a compaction, at least 2
}

// OptionsOf returns what a schema's table options ask for. It returns all that is wrong with them at once.
func OptionsOf(s *table.Schema) (Options, error) {
	var problems []error
	number := func(key string, least, unset int) int {
		if s.Option(key) == "" {
			return unset
		}
		n, err := s.OptionInt(key)
		problems = append(problems, err)
		return int(min(max(n, int64(least)), math.MaxInt32))
	}
	var o Options
	var err error
	o.Trigger = number("num-sorted-run.compaction-trigger", 1, 5)
	o.StopTrigger = max(number("num-sorted-run.stop-trigger", 1, o.Trigger+3), o.Trigger)
	o.Levels, err = s.Levels()
	problems = append(problems, err)
	o.SizeRatio = number("compaction.size-ratio", 0, 1)
	o.MaxAmplification = number("compaction.max-size-amplification-percent", 0, 200)
	o.Append, o.MinFiles = s.Append(), number("compaction.min.file-num", 2, 5)
	o.TargetFileSize, err = s.OptionSize("target-file-size")
	problems = append(problems, err)
	if o.WriteOnly, err = s.OptionBool("write-only"); err != nil {
		problems = append(problems, err)
	}
	o.LooksUp, o.TopTells = s.LooksUp(), s.ChangelogProducer() == table.ProducerFull
	o.FullEvery, err = s.FullCompactionEvery()
	return o, errors.Join(append(problems, err)...)
}

// minUpgradeBytes is the size from which a lone file is not worth rewriting.
func (o Options) minUpgradeBytes() int64 { return o.TargetFileSize / 10 * 7 }

// SortedRun is what a picker knows of a run: its level, and its bytes.
type SortedRun struct {
	Level     int32
	SizeBytes int64
	Files     []table.File
}

// Runs sorts the files of a bucket into runs, the newest first (org.apache.paimon.mergetree.Levels.levelSortedRuns).
func Runs(files []table.File) []SortedRun {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b table.File) int {
		if c := cmp.Compare(a.Level, b.Level); c != 0 || a.Level > 0 {
			return c
		}
		return cmp.Or(-cmp.Compare(a.MaxSeq, b.MaxSeq), cmp.Compare(a.MinSeq, b.MinSeq),
			cmp.Compare(a.CreatedMillis, b.CreatedMillis), strings.Compare(a.Name, b.Name))
	})
	var runs []SortedRun
	for i := range sorted {
		f := &sorted[i]
		if n := len(runs); n == 0 || f.Level == 0 || runs[n-1].Level != f.Level {
			runs = append(runs, SortedRun{Level: f.Level})
		}
		r := &runs[len(runs)-1]
		r.SizeBytes += f.SizeBytes
		r.Files = append(r.Files, *f)
	}
	return runs
}

// Job is a compaction to do: these files become one run of a level.
type Job struct {
	Files       []table.File // of one bucket
	OutputLevel int32
	Top         bool // OutputLevel is the highest that a file of the bucket may have
	// DropDeletes says that nothing older than the files lies below, so that retractions need not be kept.
	DropDeletes bool
	Below       []table.File // the other files of the bucket, of higher levels than OutputLevel: they stay, and may be looked at
}

// SizeBytes returns the bytes of the job's files.
func (j *Job) SizeBytes() int64 {
	var n int64
	for i := range j.Files {
		n += j.Files[i].SizeBytes
	}
	return n
}

// Pick returns the job that a bucket needs, if it needs any.
func (o Options) Pick(runs []SortedRun) (Job, bool) {
	if o.Append {
		return o.pickAppend(runs)
	}
	n := 0
	switch {
	case len(runs) < o.Trigger:
	case o.amplified(runs):
		n = len(runs)
	default:
		if n = o.similar(runs, 1); n < 2 {
			n = 0
		}
		if n == 0 && len(runs) > o.Trigger {
			n = o.similar(runs, len(runs)-o.Trigger+1)
		}
	}
	if n == 0 && o.LooksUp {
		n = o.similarTo0(runs)
	}
	if n == 0 {
		return Job{}, false
	}
	j := o.job(runs, n)
	return j, len(j.Files) > 1 || j.Files[0].Level != j.OutputLevel
}

// PickFull returns the job that makes all of a bucket one run of the highest level. There is none when it is that already.
// A bucket whose only run still holds retractions is rewritten, too: they are good for nothing there.
func (o Options) PickFull(runs []SortedRun) (Job, bool) {
	if o.Append {
		return o.pickAppendFull(runs)
	}
	if len(runs) == 0 {
		return Job{}, false
	}
	j := o.job(runs, len(runs))
	if len(runs) > 1 || runs[0].Level != j.OutputLevel {
		return j, true
	}
	return j, slices.ContainsFunc(j.Files, hasDeletes)
}

// amplified reports whether what lies above the oldest run is too much in comparison with it.
func (o Options) amplified(runs []SortedRun) bool {
	last := len(runs) - 1
	return sizeOf(runs[:last])*100 > int64(o.MaxAmplification)*runs[last].SizeBytes
}

// similar grows a prefix of n runs by the next one for as long as that is not much larger than the prefix.
func (o Options) similar(runs []SortedRun, n int) int {
	size := sizeOf(runs[:n])
	for n < len(runs) && float64(size)*(100+float64(o.SizeRatio))/100 >= float64(runs[n].SizeBytes) {
		size += runs[n].SizeBytes
		n++
	}
	return n
}

// similarTo0 grows the runs of level 0, if there are any (org.apache.paimon.mergetree.compact.ForceUpLevel0Compaction).
func (o Options) similarTo0(runs []SortedRun) int {
	n := 0
	for n < len(runs) && runs[n].Level == 0 {
		n++
	}
	if n == 0 {
		return 0
	}
	return o.similar(runs, n)
}

// job makes a job of the first n runs. Its output goes right above the next run, and never to level 0: then it takes the
// runs up to the first of a higher level with it.
func (o Options) job(runs []SortedRun, n int) Job {
	top := o.top(runs)
	level := int32(0)
	if n < len(runs) {
		level = max(0, runs[n].Level-1)
	}
	for n < len(runs) && level == 0 {
		level = runs[n].Level
		n++
	}
	if n == len(runs) {
		level = top
	}
	j := Job{OutputLevel: level, Top: level == top, DropDeletes: level >= highest(runs)}
	for _, r := range runs[:n] {
		j.Files = append(j.Files, r.Files...)
	}
	for _, r := range runs[n:] {
		j.Below = append(j.Below, r.Files...)
	}
	return j
}

// top returns the highest level of a bucket: that of num-levels, or of a file that is higher. Where its rows are those that have been told it
// stays what it is when num-levels changes: on the way to another they would be told again.
func (o Options) top(runs []SortedRun) int32 {
	if h := highest(runs); h > 0 && o.TopTells {
		return h
	}
	return max(int32(o.Levels)-1, highest(runs))
}

func highest(runs []SortedRun) int32 {
	if len(runs) == 0 {
		return 0
	}
	return runs[len(runs)-1].Level
}

func sizeOf(runs []SortedRun) int64 {
	var n int64
	for _, r := range runs {
		n += r.SizeBytes
	}
	return n
}

// hasDeletes reports whether a file may hold retractions.
func hasDeletes(f table.File) bool { return f.DeleteRows != 0 }

package commit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOffsetMetadata(t *testing.T) {
	marks := []Mark{{"shop.orders", 12, "9d2c"}, {"a b.c=d", 1, "77"}}
	text := FormatOffsetMetadata(marks...)
	require.Equal(t, "sink/1 a+b.c%3Dd=1:77 shop.orders=12:9d2c", text)
	back, ok := ParseOffsetMetadata(text)
	require.True(t, ok)
	require.ElementsMatch(t, marks, back)
	back, ok = ParseOffsetMetadata(FormatOffsetMetadata())
	require.True(t, ok)
	require.Empty(t, back)

	marks = nil
	for i := range 200 {
		marks = append(marks, Mark{fmt.Sprintf("shop.t%d", i), 5, strings.Repeat("u", 36)})
	}
	require.Equal(t, "sink/1", FormatOffsetMetadata(marks...), "what does not fit is left out")
	for _, text := range []string{"", "by hand", "sink/2 a=1:2", "sink/1 a", "sink/1 a=1", "sink/1 a=x:2", "sink/1 a=-1:2", "sink/1 %zz=1:2", "sink/1  "} {
		_, ok := ParseOffsetMetadata(text)
		require.False(t, ok, text)
	}
}

func TestJudgeOffset(t *testing.T) {
	const name = "shop.orders"
	resumed := State{NewestID: 9, SnapshotID: 7, SnapshotUUID: "u7"}
	fresh := State{NewestID: 9, Fresh: true}
	empty := State{Fresh: true}
	mark := func(id int64, uuid string) string {
		return FormatOffsetMetadata(Mark{name, id, uuid}, Mark{"shop.other", 99, "x"})
	}
	for what, tc := range map[string]struct {
		state    State
		group    int64
		metadata string
		want     Verdict
	}{
		"the very snapshot, skips since":          {resumed, 120, mark(7, "u7"), OffsetForward},
		"the very snapshot, same offset":          {resumed, 100, mark(7, "u7"), OffsetIgnored},
		"the very snapshot, set back":             {resumed, 50, mark(7, "u7"), OffsetIgnored},
		"an older snapshot":                       {resumed, 120, mark(6, "u6"), OffsetIgnored},
		"newer than any":                          {resumed, 120, mark(10, "u10"), OffsetRollback},
		"newer than ours, others went on":         {resumed, 120, mark(8, "u8"), OffsetRollback},
		"the id, but another snapshot":            {resumed, 120, mark(7, "u7-before"), OffsetRollback},
		"reset by hand":                           {resumed, 120, "", OffsetIgnored},
		"another table only":                      {resumed, 120, FormatOffsetMetadata(Mark{"shop.other", 99, "x"}), OffsetIgnored},
		"left by a table that others made anew":   {fresh, 120, mark(5, "u5"), OffsetIgnored},
		"newer than any of a table without ours":  {fresh, 120, mark(10, "u10"), OffsetRollback},
		"left by a table that was made anew just": {empty, 120, mark(10, "u10"), OffsetIgnored},
	} {
		t.Run(what, func(t *testing.T) {
			require.Equal(t, tc.want, JudgeOffset(tc.state, name, 100, tc.group, tc.metadata))
		})
	}
}

func FuzzOffsetMetadata(f *testing.F) {
	f.Add("sink/1 shop.orders=12:9d2c a+b=1:x")
	f.Add("sink/1")
	f.Fuzz(func(t *testing.T, text string) {
		marks, ok := ParseOffsetMetadata(text)
		if !ok {
			return
		}
		again, ok := ParseOffsetMetadata(FormatOffsetMetadata(marks...))
		require.True(t, ok)
		if len(text) < MaxOffsetMetadata/4 {
			require.ElementsMatch(t, marks, again)
		}
	})
}

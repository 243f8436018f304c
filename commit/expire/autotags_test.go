package expire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sink/table"
	"sink/table/manifest"
)

// TestAutoTags: whoever looks, and however seldom, each period gets one tag, of the first snapshot after it and the delay; the oldest
// go beyond the number that stays, and those whose time has passed.
func TestAutoTags(t *testing.T) {
	w := newWorld(t, map[string]string{
		"snapshot.num-retained.min": "30", "tag.automatic-creation": "process-time", "tag.creation-period": "hourly", "tag.creation-delay": "10 min",
		"tag.num-retained-max": "4", "tag.default-time-retained": "1 d",
	})
	w.now = time.Date(2024, 2, 28, 20, 5, 0, 0, time.UTC)
	c, e := w.committer(), w.expirer(w.store)
	var made []string
	want := map[string]int64{"2024-02-28 19": 1} // the first snapshot tells of the hour before
	for i := range 36 {
		w.append(c)
		if at := w.now.Add(-10 * time.Minute); i > 0 {
			hour := at.Truncate(time.Hour).Add(-time.Hour).Format("2006-01-02 15")
			if _, ok := want[hour]; !ok && hour > "2024-02-28 19" {
				want[hour] = int64(i + 1)
			}
		}
		if i%4 == 1 {
			if i%8 == 1 {
				e = w.expirer(w.store) // another process, which knows nothing
			}
			r, err := e.Run(t.Context())
			require.NoError(t, err)
			made = append(made, r.Tagged...)
		}
		w.pass(20 * time.Minute)
	}
	r, err := e.Run(t.Context())
	require.NoError(t, err)
	made = append(made, r.Tagged...)
	require.Len(t, made, len(want))
	names, err := manifest.TagNames(t.Context(), w.store, w.path)
	require.NoError(t, err)
	require.Equal(t, made[len(made)-4:], names)
	require.Equal(t, "2024-02-29 06", names[3])
	for _, name := range names {
		tag, err := manifest.ReadTag(t.Context(), w.store, w.path, name)
		require.NoError(t, err)
		require.Equal(t, want[name], tag.Snapshot.ID, name)
		require.Equal(t, 24*time.Hour, tag.Retained)
	}
	w.check()
	w.pass(25 * time.Hour)
	r, err = e.Run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, r.Tags)
	require.Empty(t, r.Tagged, "no snapshot, no tag")
	w.check()
}

// TestAutoTagsCompletion: with tag.automatic-completion every period has a tag, though nothing was written in it; one a snapshot.
func TestAutoTagsCompletion(t *testing.T) {
	w := newWorld(t, map[string]string{
		"snapshot.num-retained.min": "30", "tag.automatic-creation": "process-time", "tag.creation-period-duration": "30 min", "tag.automatic-completion": "true",
	})
	w.now = time.Date(2024, 1, 1, 0, 1, 0, 0, time.UTC)
	c, e := w.committer(), w.expirer(w.store)
	w.append(c)
	w.pass(3 * time.Hour)
	for range 8 {
		w.append(c)
		w.pass(time.Minute)
	}
	r, err := e.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"202312312330", "202401010000", "202401010030", "202401010100", "202401010130", "202401010200", "202401010230"}, r.Tagged)
}

// TestTagPolicy: what the options ask for, and what they must not.
func TestTagPolicy(t *testing.T) {
	for _, test := range []struct {
		options map[string]string
		name    string // of the tag for the period before 2024-03-01 05:30
		err     string
	}{
		{map[string]string{}, "", ""},
		{map[string]string{"tag.automatic-creation": "batch"}, "", ""},
		{map[string]string{"tag.automatic-creation": "process-time"}, "2024-02-29", ""},
		{map[string]string{"tag.automatic-creation": "PROCESS_TIME", "tag.period-formatter": "without_dashes"}, "20240229", ""},
		{map[string]string{"tag.automatic-creation": "watermark", "tag.creation-period": "hourly"}, "2024-03-01 04", ""},
		{map[string]string{"tag.automatic-creation": "watermark", "tag.creation-period": "hourly", "tag.period-formatter": "without_dashes_and_spaces"}, "2024030104", ""},
		{map[string]string{"tag.automatic-creation": "process-time", "tag.creation-period": "two-hours"}, "2024-03-01 02", ""},
		{map[string]string{"tag.automatic-creation": "sometimes"}, "", "tag.automatic-creation"},
		{map[string]string{"tag.automatic-creation": "process-time", "tag.creation-period": "weekly"}, "", "tag.creation-period"},
		{map[string]string{"tag.automatic-creation": "process-time", "tag.creation-delay": "2 d"}, "", "tag.creation-delay"},
		{map[string]string{"tag.automatic-creation": "process-time", "tag.num-retained-max": "0"}, "", "tag.num-retained-max"},
		{map[string]string{"tag.automatic-creation": "process-time", "tag.default-time-retained": "x"}, "", "tag.default-time-retained"},
		{map[string]string{"tag.automatic-creation": "process-time", "tag.period-formatter": "slashes"}, "", "tag.period-formatter"},
		{map[string]string{"tag.automatic-creation": "watermark", "sink.watermark-time-zone": "Mars/Base"}, "", "watermark-time-zone"},
	} {
		p, err := TagPolicyOf(&table.Schema{Options: test.options})
		if test.err != "" {
			require.ErrorContains(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		if test.name == "" {
			require.Zero(t, p.Period)
			continue
		}
		this := p.previous(time.Date(2024, 3, 1, 5, 30, 0, 0, time.UTC))
		require.Equal(t, test.name, this.Format(p.layout))
		back, ok := p.period(test.name)
		require.True(t, ok)
		require.Equal(t, this, back)
		_, ok = p.period("release-1")
		require.False(t, ok)
	}
}

package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressProperties(t *testing.T) {
	p := Progress{
		Offsets: Offsets{
			{Topic: "b", Partition: 0}:  {Offset: 7, Epoch: -1},
			{Topic: "a", Partition: 10}: {Offset: 1 << 60, Epoch: 3, TopicID: "00112233445566778899aabbccddeeff"},
			{Topic: "a", Partition: 2}:  {Offset: 0, Epoch: 0},
		},
		MaxSequence: -1,
		Learned:     map[string]string{"identity/db.s.t": "full", "a": `"<&>"`},
	}
	props := p.EncodeProperties()
	require.Equal(t, map[string]string{
		"sink.offsets": `[{"topic":"a","partition":2,"offset":0,"epoch":0},` +
			`{"topic":"a","id":"00112233445566778899aabbccddeeff","partition":10,"offset":1152921504606846976,"epoch":3},` +
			`{"topic":"b","partition":0,"offset":7,"epoch":-1}]`,
		"sink.max-sequence": "-1",
		"sink.learned":      `{"a":"\"<&>\"","identity/db.s.t":"full"}`,
	}, props)
	back, ours, err := ParseProgress(props)
	require.NoError(t, err)
	require.True(t, ours)
	require.Equal(t, p, back)

	empty := Progress{Offsets: Offsets{}, MaxSequence: 5}
	require.NotContains(t, empty.EncodeProperties(), "sink.learned")
	back, ours, err = ParseProgress(empty.EncodeProperties())
	require.NoError(t, err)
	require.True(t, ours)
	require.Equal(t, empty, back)

	_, ours, err = ParseProgress(map[string]string{"other": "x"})
	require.NoError(t, err)
	require.False(t, ours)
	_, ours, err = ParseProgress(nil)
	require.NoError(t, err)
	require.False(t, ours)
}

func TestParseProgressRefuses(t *testing.T) {
	for _, props := range []map[string]string{
		{"sink.offsets": "{"},
		{"sink.offsets": `[{"topic":"a","partition":0,"offset":1,"epoch":0},{"topic":"a","partition":0,"offset":2,"epoch":0}]`, "sink.max-sequence": "1"},
		{"sink.offsets": `[{"topic":"","partition":0,"offset":1,"epoch":0}]`, "sink.max-sequence": "1"},
		{"sink.offsets": `[{"topic":"a","partition":-1,"offset":1,"epoch":0}]`, "sink.max-sequence": "1"},
		{"sink.offsets": `[]`},
		{"sink.offsets": `[]`, "sink.max-sequence": "x"},
		{"sink.offsets": `[]`, "sink.max-sequence": "1", "sink.learned": "[]"},
	} {
		_, ours, err := ParseProgress(props)
		require.True(t, ours)
		require.ErrorContains(t, err, "property sink.", "%v", props)
	}
}

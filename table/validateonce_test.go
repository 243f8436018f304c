package table

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestValidateOnce: one bad option is one problem, whichever it is.
func TestValidateOnce(t *testing.T) {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		for _, value := range []string{"nonsense", "0", "-3", "1.5"} {
			s := NewSchema([]Field{{Name: "id", Type: Type{Root: BigInt, NotNull: true}}, {Name: "v", Type: Type{Root: Int}}}, []string{"id"}, nil,
				map[string]string{"bucket": "1", key: value})
			err := s.Validate()
			if err == nil {
				continue
			}
			require.LessOrEqual(t, strings.Count(err.Error(), "option "+key+" is "), 1, "%s: %s\n%v", key, value, err)
			lines := strings.Split(err.Error(), "\n")
			slices.Sort(lines)
			require.Equal(t, slices.Compact(slices.Clone(lines)), lines)
		}
	}
}

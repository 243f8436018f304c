//go:build integration

package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlattenedAndKeyless: events that are no change events of a primary-key table are refused with the way out.
func TestFlattenedAndKeyless(t *testing.T) {
	for name, test := range map[string]struct {
		capture, topic string
		says           []string
	}{
		"flattened": {"pg_f_unwrap_p1_rewrite", "pg.public.customers", []string{"partition 0", "offset", "before", "on-missing-before"}},
		"keyless":   {"pg_c_identity_p1_default", "pg.public.t_nokey_full", []string{"partition 0", "offset 4", "an update", "no primary key", "primary-key:", "message.key.columns", "on-keyless-change"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := captures(t, test.capture)[0]
			prefix := slug(t) + "."
			replay(t, c.of(t, "json_schema", test.topic, prefix, nil))
			code, said := refused(t, environment(), "run", "-c", newConfig(newLake(t, disk), slug(t), table(prefix+test.topic, "shop.t")).write(t), "--until-end")
			require.Equal(t, 1, code)
			says(t, said, append(test.says, prefix+test.topic)...)
		})
	}
}

//go:build integration

package integration

import (
	"encoding/json"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// leastRights are all that the sink needs, below one prefix of the bucket; docs/operations.md has them.
var leastRights = []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}

// restricted is the environment of a process whose key may do only these actions below the lake's prefix. The server is asked for a temporary
// key with that policy.
func restricted(t testing.TB, l lake, actions ...string) []string {
	t.Helper()
	var objects, listing []string
	for _, action := range actions {
		if action == "s3:ListBucket" {
			listing = append(listing, action)
		} else {
			objects = append(objects, action)
		}
	}
	statements := []config{{"Effect": "Allow", "Action": objects, "Resource": "arn:aws:s3:::" + bucket + "/" + l.path() + "/*"}}
	if listing != nil {
		statements = append(statements, config{
			"Effect": "Allow", "Action": listing, "Resource": "arn:aws:s3:::" + bucket,
			"Condition": config{"StringLike": config{"s3:prefix": l.path() + "/*"}},
		})
	}
	policy, err := json.Marshal(config{"Version": "2012-10-17", "Statement": statements})
	require.NoError(t, err)
	provider, err := credentials.NewSTSAssumeRole("http://"+l.server, credentials.STSAssumeRoleOptions{
		AccessKey: accessKey, SecretKey: secretKey, Policy: string(policy), DurationSeconds: 3600,
	})
	require.NoError(t, err)
	key, err := provider.GetWithContext(nil)
	require.NoError(t, err)
	return environment("AWS_ACCESS_KEY_ID="+key.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+key.SecretAccessKey, "AWS_SESSION_TOKEN="+key.SessionToken)
}

// TestLeastRights: four rights below the warehouse's own prefix are enough for a table's whole life, with compaction and expiry; without any one of
// them check and run say at once which it is, and write nothing.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	s := newStream(t, 2)
	t.Run("enough", func(t *testing.T) {
		l := newLake(t, s3)
		env := restricted(t, l, leastRights...)
		path := newConfig(l, slug(t), s.mapping("orchard.crate", config{"options": config{
			"bucket": "1", "num-sorted-run.compaction-trigger": "2",
			"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2", "snapshot.time-retained": "1 s",
		}})).write(t)
		for range 4 {
			produceFresh(t, s.next(100))
			for _, command := range [][]string{{"check", "-c", path}, {"run", "-c", path, "--until-end"}} {
				p := startEnv(t, env, command...)
				require.Zero(t, p.wait(t, waitLong), "%s: %s", command[0], p.log.String())
				require.NotContains(t, p.log.String(), "permission denied", "%s lacks a right", command[0])
			}
		}
		x := l.table("orchard.crate")
		require.Equal(t, s.truth(), crates(t, x.agreedBy(t, "paimon", "sink")))
	})
	for _, lacking := range leastRights {
		t.Run("without "+lacking, func(t *testing.T) {
			l := newLake(t, s3)
			var rest []string
			for _, right := range leastRights {
				if right != lacking {
					rest = append(rest, right)
				}
			}
			env := restricted(t, l, rest...)
			path := newConfig(l, slug(t), s.mapping("orchard.crate")).write(t)
			for _, command := range [][]string{{"check", "-c", path}, {"run", "-c", path, "--until-end"}} {
				code, said := refused(t, env, command...)
				require.Equal(t, 1, code, "%s: %s", command[0], said)
				says(t, said, "probe store", "permission denied", "this call needs "+lacking)
			}
		})
	}
}

package object

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
)

// mems holds the stores in memory of this process by name: a name is all that a URI can say of one.
var mems sync.Map

// Open returns the store whose root a URI names:
//
//	file:///var/lake, /var/lake, ./lake   a folder; made when the first object is
//	s3://bucket/path, s3a://bucket/path   a bucket of an S3 server; cfg says which and how
//	mem://name                            memory of this process; the same name is the same store
//
// It asks an S3 server for the bucket, so that a wrong endpoint, bucket or key is told at once: [ErrUnreachable],
// [ErrNoBucket], [ErrCredentials].
func Open(ctx context.Context, uri string, cfg S3Config) (Store, error) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		if uri == "" {
			return nil, errors.New("no warehouse given: name one, such as file:///var/lake or s3://bucket/path")
		}
		return openLocal(uri)
	}
	switch scheme {
	case "file":
		host, folder, _ := strings.Cut(rest, "/")
		if host != "" && host != "localhost" {
			return nil, fmt.Errorf("warehouse %s: a file URI has three slashes: file:///%s", uri, rest)
		}
		folder, err := url.PathUnescape(folder)
		if err != nil {
			return nil, fmt.Errorf("warehouse %s: %w", uri, err)
		}
		return openLocal("/" + folder)
	case "s3", "s3a":
		cfg.Bucket, cfg.Prefix, _ = strings.Cut(rest, "/")
		s, err := NewS3(cfg)
		if err != nil {
			return nil, fmt.Errorf("warehouse %s: %w", uri, err)
		}
		if err := s.Ping(ctx); err != nil {
			return nil, fmt.Errorf("warehouse %s: %w", uri, err)
		}
		return s, nil
	case "mem":
		m, _ := mems.LoadOrStore(rest, NewMem())
		return m.(*Mem), nil
	}
	return nil, fmt.Errorf("warehouse %s: scheme %q is not supported: use file, s3 or mem", uri, scheme)
}

func openLocal(folder string) (Store, error) {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("warehouse %s: not a folder", folder)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("warehouse: %w", err)
	}
	return NewLocal(folder), nil
}

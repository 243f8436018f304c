package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
)

// tailBytes is what opening an object reads of its end: the footer of most Parquet files, so that it costs no request
// of its own.
const tailBytes = 64 << 10

// Open implements [Store]. The context also bounds the reads.
func (s *S3) Open(ctx context.Context, name string) (Reader, error) {
	if err := checkCall(ctx, name); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	r, err := retry(ctx, s, tailBytes, func(ctx context.Context) (*s3Reader, error) { return s.openTail(ctx, name) })
	if err != nil {
		return nil, s.explain("open", name, err)
	}
	r.ctx = ctx
	return r, nil
}

func (s *S3) openTail(ctx context.Context, name string) (*s3Reader, error) {
	var opts minio.GetObjectOptions
	if err := opts.SetRange(0, -tailBytes); err != nil {
		return nil, err
	}
	body, info, header, err := s.core.GetObject(ctx, s.cfg.Bucket, s.key(name), opts)
	if err != nil && minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return &s3Reader{s: s, name: name}, nil // an empty object has no range
	}
	if err != nil {
		return nil, err
	}
	tail, err := readBody(body, info.Size)
	if err != nil {
		return nil, err
	}
	size := info.Size
	if r := header.Get("Content-Range"); r != "" { // bytes 100-199/200
		if size, err = strconv.ParseInt(r[strings.LastIndexByte(r, '/')+1:], 10, 64); err != nil {
			return nil, fmt.Errorf("content range %q: %w", r, err)
		}
	}
	return &s3Reader{s: s, name: name, size: size, tail: tail}, nil
}

// Get implements [Store].
func (s *S3) Get(ctx context.Context, name string) ([]byte, error) {
	if err := checkCall(ctx, name); err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	b, err := retry(ctx, s, maxPartBytes, func(ctx context.Context) ([]byte, error) {
		body, info, _, err := s.core.GetObject(ctx, s.cfg.Bucket, s.key(name), minio.GetObjectOptions{})
		if err != nil {
			return nil, err
		}
		return readBody(body, info.Size)
	})
	return b, s.explain("get", name, err)
}

type s3Reader struct {
	s    *S3
	ctx  context.Context // of the Store.Open call: io.ReaderAt has no room for one
	name string
	size int64
	tail []byte // the last bytes of the object
}

// ReadAt implements [io.ReaderAt], with one request for what the tail does not hold.
func (r *s3Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s at %d: %w", r.name, off, fs.ErrInvalid)
	}
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read %s: %w", r.name, err)
	}
	if off >= r.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.size-off)
	tailStart := r.size - int64(len(r.tail))
	head := min(max(tailStart-off, 0), n) // bytes before the tail
	if head > 0 {
		if got, err := r.fetch(p[:head], off); err != nil {
			return got, err
		}
	}
	if head < n {
		copy(p[head:n], r.tail[off+head-tailStart:])
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (r *s3Reader) fetch(p []byte, off int64) (int, error) {
	n, err := retry(r.ctx, r.s, len(p), func(ctx context.Context) (int, error) {
		var opts minio.GetObjectOptions
		if err := opts.SetRange(off, off+int64(len(p))-1); err != nil {
			return 0, err
		}
		body, info, _, err := r.s.core.GetObject(ctx, r.s.cfg.Bucket, r.s.key(r.name), opts)
		if err != nil {
			return 0, err
		}
		defer body.Close()
		if info.Size != int64(len(p)) {
			return 0, fmt.Errorf("server sent %d bytes for a range of %d", info.Size, len(p))
		}
		n, err := io.ReadFull(body, p)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	})
	return n, r.s.explain("read", r.name, err)
}

// Size implements [Reader].
func (r *s3Reader) Size() int64 { return r.size }

// Close implements [Reader].
func (r *s3Reader) Close() error { return nil }

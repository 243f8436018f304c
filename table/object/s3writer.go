package object

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// abortTimeout bounds how long giving up an upload may take.
const abortTimeout = 10 * time.Second

// Writer implements [Store]. What fits one part is stored by a single request at Close. Else the parts go up while the
// next one fills: two of them are the most that a writer holds.
func (s *S3) Writer(ctx context.Context, name string) (Writer, error) {
	if err := checkCall(ctx, name); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	return &s3Writer{s: s, ctx: ctx, cancel: cancel, name: name}, nil
}

type s3Writer struct {
	s      *S3
	ctx    context.Context // of the Store.Writer call: io.Writer has no room for one
	cancel context.CancelFunc
	name   string
	size   int64

	buf      []byte  // the part that fills
	full     *[]byte // what buf was borrowed as, once it has a part's size
	uploadID string  // empty while all fits one part
	parts    []minio.CompletePart
	inFlight chan error // the upload of the last of parts; nil: none
	err      error
	done     bool
}

// Write implements [io.Writer].
func (w *s3Writer) Write(p []byte) (int, error) {
	if w.done {
		return 0, fmt.Errorf("write %s: %w", w.name, fs.ErrClosed)
	}
	if w.err != nil {
		return 0, w.err
	}
	written := 0
	for len(p) > 0 {
		if len(w.buf) == w.s.cfg.PartBytes {
			if w.err = w.sendPart(); w.err != nil {
				return written, w.err
			}
		}
		n := min(len(p), w.s.cfg.PartBytes-len(w.buf))
		w.grow(n)
		w.buf = append(w.buf, p[:n]...)
		p, written = p[n:], written+n
	}
	w.size += int64(written)
	return written, nil
}

// grow makes room for n bytes: a small object holds at most twice its size, a larger one borrows a whole part.
func (w *s3Writer) grow(n int) {
	need := len(w.buf) + n
	switch {
	case need <= cap(w.buf):
	case need > w.s.cfg.PartBytes/2:
		w.full = w.s.buffers.Get().(*[]byte)
		w.buf = append((*w.full)[:0], w.buf...)
	default:
		w.buf = append(make([]byte, 0, max(need, 2*cap(w.buf))), w.buf...)
	}
}

// sendPart starts the upload of the full buffer, after the one before it has ended.
func (w *s3Writer) sendPart() error {
	if err := w.wait(); err != nil {
		return err
	}
	if w.uploadID == "" {
		id, err := retry(w.ctx, w.s, 0, func(ctx context.Context) (string, error) {
			return w.s.core.NewMultipartUpload(ctx, w.s.cfg.Bucket, w.s.key(w.name), minio.PutObjectOptions{})
		})
		if err != nil {
			return w.s.explain("write", w.name, err)
		}
		w.uploadID = id
	}
	buf, full, number := w.buf, w.full, len(w.parts)+1
	w.buf, w.full = nil, nil
	w.parts = append(w.parts, minio.CompletePart{PartNumber: number})
	part := &w.parts[number-1]
	done := make(chan error, 1)
	w.inFlight = done
	go func() {
		up, err := retry(w.ctx, w.s, len(buf), func(ctx context.Context) (minio.ObjectPart, error) {
			return w.s.core.PutObjectPart(ctx, w.s.cfg.Bucket, w.s.key(w.name), w.uploadID, number,
				bytes.NewReader(buf), int64(len(buf)), minio.PutObjectPartOptions{})
		})
		part.ETag = up.ETag
		if full != nil {
			w.s.buffers.Put(full)
		}
		done <- err
	}()
	return nil
}

// wait ends when no part is on its way.
func (w *s3Writer) wait() error {
	if w.inFlight == nil {
		return nil
	}
	err := <-w.inFlight
	w.inFlight = nil
	return w.s.explain("write", w.name, err)
}

// Close implements [io.Closer]: it makes the object visible.
func (w *s3Writer) Close() error {
	if w.done {
		return fmt.Errorf("close %s: %w", w.name, fs.ErrClosed)
	}
	err := w.err
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.Abort()
		return err
	}
	w.release()
	return nil
}

func (w *s3Writer) finish() error {
	if w.uploadID == "" {
		return w.s.Put(w.ctx, w.name, w.buf)
	}
	if len(w.buf) > 0 {
		if err := w.sendPart(); err != nil {
			return err
		}
	}
	if err := w.wait(); err != nil {
		return err
	}
	_, err := retry(w.ctx, w.s, 0, func(ctx context.Context) (minio.UploadInfo, error) {
		info, err := w.s.core.CompleteMultipartUpload(ctx, w.s.cfg.Bucket, w.s.key(w.name), w.uploadID, w.parts, minio.PutObjectOptions{})
		if err != nil && minio.ToErrorResponse(err).Code == "NoSuchUpload" {
			// The answer to an attempt before may have been lost.
			if info, serr := w.s.core.StatObject(ctx, w.s.cfg.Bucket, w.s.key(w.name), minio.StatObjectOptions{}); serr == nil && info.Size == w.size {
				return minio.UploadInfo{}, nil
			}
		}
		return info, err
	})
	return w.s.explain("write", w.name, err)
}

// Abort implements [Writer]: it removes the parts that are stored.
func (w *s3Writer) Abort() {
	if w.done {
		return
	}
	w.cancel()
	_ = w.wait()
	if w.uploadID != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTimeout)
		defer cancel()
		_, _ = retry(ctx, w.s, 0, func(ctx context.Context) (struct{}, error) {
			err := w.s.core.AbortMultipartUpload(ctx, w.s.cfg.Bucket, w.s.key(w.name), w.uploadID)
			if err != nil && minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
				err = nil
			}
			return struct{}{}, err
		})
	}
	w.release()
}

// release gives the memory back.
func (w *s3Writer) release() {
	w.done = true
	w.cancel()
	if w.full != nil {
		w.s.buffers.Put(w.full)
	}
	w.buf, w.full, w.parts = nil, nil, nil
}

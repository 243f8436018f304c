package datafile

import "io"

// window is the part of a column chunk that is in memory. It reads ahead, so that a chunk takes few requests to a store.
type window struct {
	src   io.ReaderAt
	at    int64 // where buf begins in the file
	end   int64 // of the chunk
	buf   []byte
	own   []byte // memory for buf, when it is not shared
	ahead int
}

// open points the window at the chunk from start to end. buffered, if it holds the chunk, are bytes of the file from
// bufferedAt on, shared with other windows.
func (w *window) open(start, end int64, buffered []byte, bufferedAt int64, ahead int) {
	w.at, w.end, w.ahead, w.buf = start, end, ahead, nil
	if bufferedAt <= start && end <= bufferedAt+int64(len(buffered)) {
		w.buf = buffered[start-bufferedAt : end-bufferedAt]
	}
}

// left is how many bytes of the chunk have not been taken.
func (w *window) left() int64 { return w.end - w.at }

// peek returns what is in memory, and reads more until it is at least n bytes or all that are left.
func (w *window) peek(n int) ([]byte, error) {
	if len(w.buf) > 0 && len(w.buf) >= n || int64(len(w.buf)) == w.left() {
		if w.left() == 0 {
			return nil, damaged("a column chunk is cut short")
		}
		return w.buf, nil
	}
	want := int(min(w.left(), int64(max(n, w.ahead))))
	own := w.own
	if cap(own) < want {
		own = make([]byte, want)
	}
	own = own[:want]
	have := copy(own, w.buf) // may overlap: copy moves
	if err := readFull(w.src, own[have:], w.at+int64(have)); err != nil {
		return nil, err
	}
	w.own, w.buf = own, own
	return w.buf, nil
}

func (w *window) skip(n int) {
	w.buf = w.buf[n:]
	w.at += int64(n)
}

// take returns the next n bytes, valid until the next call.
func (w *window) take(n int) ([]byte, error) {
	if int64(n) > w.left() {
		return nil, damaged("a page of %d bytes where %d are left", n, w.left())
	}
	if n == 0 {
		return nil, nil
	}
	b, err := w.peek(n)
	if err != nil {
		return nil, err
	}
	b = b[:n]
	w.skip(n)
	return b, nil
}

package runsreceiver

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

const (
	// firstRead is the size of a body's first buffer, and so what a slow or idle sender is charged. Each further
	// buffer is growth times as large.
	firstRead = 4 << 10
	growth    = 4

	// pooledSizes is how many sizes of buffers are pooled. The largest is 1 MiB.
	pooledSizes = 5

	// maxZstdWindow is the largest window of the zstd content coding (RFC 9659). A decoder takes this memory in
	// addition to the body.
	maxZstdWindow = 8 << 20
)

// intake limits the memory of requests. It reads bodies whole in their wire format and charges each to one budget as
// it grows. Then it decompresses and decodes only as many at a time as there are processors. So a slow client never
// holds a decompressor, and only a few bodies are inflated at a time, however large they become.
type intake struct {
	maxBody       int64
	budget        int64
	used          atomic.Int64
	slots         chan struct{}
	decompressors sync.Pool // of *decompressor
	// buffers hold *[]byte of firstRead bytes and of growth times the previous size.
	buffers [pooledSizes]sync.Pool
}

// decompressor is the state of one decompression. It is pooled, so that memory which a decompression bomb took is
// reused by the next body, or freed if there is none.
type decompressor struct {
	gzip *gzip.Reader
	zlib io.ReadCloser // also a zlib.Resetter
	zstd *zstd.Decoder
	out  bytes.Buffer
}

func newIntake(maxBody, budget int64) *intake {
	return &intake{
		maxBody:       maxBody,
		budget:        budget,
		slots:         make(chan struct{}, runtime.GOMAXPROCS(0)),
		decompressors: sync.Pool{New: func() any { return &decompressor{} }},
	}
}

// charge is a request's share of the budget.
type charge struct {
	in *intake
	n  int64
}

// grow charges n more bytes.
func (c *charge) grow(n int64) error {
	if n > c.in.budget {
		return &bodyTooDense
	}
	if c.in.used.Add(n) > c.in.budget {
		c.in.used.Add(-n)
		return &overloaded
	}
	c.n += n
	return nil
}

// release returns the charge. It must be called once.
func (c *charge) release() { c.in.used.Add(-c.n) }

// read reads a request's body in its wire format and charges it to c.
func (in *intake) read(req *http.Request, c *charge) ([]byte, error) {
	if req.ContentLength > in.maxBody {
		return nil, &bodyTooLarge
	}
	if err := c.grow(firstRead); err != nil {
		return nil, err
	}
	buf := in.buffer(firstRead)
	for {
		n, err := req.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if int64(len(buf)) > in.maxBody {
			return nil, &bodyTooLarge
		}
		if len(buf) < cap(buf) {
			continue
		}
		size := growth * cap(buf)
		if in.pool(size) == nil {
			size = int(min(int64(size), in.maxBody+1))
			if known := req.ContentLength + 1; known > int64(len(buf)) && known < int64(size) {
				size = int(known) // one byte more, to detect the end without another buffer
			}
		}
		if err := c.grow(int64(size - cap(buf))); err != nil {
			return nil, err
		}
		grown := append(in.buffer(size), buf...)
		in.recycle(buf)
		buf = grown
	}
}

// pool returns the pool for buffers of this capacity, or nil.
func (in *intake) pool(size int) *sync.Pool {
	for i, kept := 0, firstRead; i < pooledSizes; i, kept = i+1, kept*growth {
		if kept == size {
			return &in.buffers[i]
		}
	}
	return nil
}

// buffer returns an empty buffer with this capacity.
func (in *intake) buffer(size int) []byte {
	if pool := in.pool(size); pool != nil {
		if kept, ok := pool.Get().(*[]byte); ok {
			return (*kept)[:0]
		}
	}
	return make([]byte, 0, size)
}

// recycle returns a buffer to its pool. It must not be used any more.
func (in *intake) recycle(buf []byte) {
	if pool := in.pool(cap(buf)); pool != nil {
		pool.Put(&buf)
	}
}

// decode waits for a processor, decompresses the body and passes it to fn, which must not keep it.
func (in *intake) decode(ctx context.Context, encoding string, wire []byte, fn func(body []byte) error) error {
	select {
	case in.slots <- struct{}{}:
		defer func() { <-in.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if encoding == "" {
		return fn(wire)
	}
	b := in.decompressors.Get().(*decompressor)
	defer in.decompressors.Put(b)
	body, err := b.decompress(encoding, wire, in.maxBody)
	if err != nil {
		return err
	}
	return fn(body)
}

func (b *decompressor) decompress(encoding string, wire []byte, limit int64) ([]byte, error) {
	var (
		from io.Reader
		err  error
	)
	switch encoding {
	case "gzip":
		if b.gzip == nil {
			b.gzip = new(gzip.Reader)
		}
		err = b.gzip.Reset(bytes.NewReader(wire))
		from = b.gzip
	case "deflate":
		if b.zlib == nil {
			b.zlib, err = zlib.NewReader(bytes.NewReader(wire))
		} else {
			err = b.zlib.(zlib.Resetter).Reset(bytes.NewReader(wire), nil)
		}
		from = b.zlib
	case "zstd":
		if b.zstd == nil {
			b.zstd, err = zstd.NewReader(nil,
				zstd.WithDecoderConcurrency(1), // in the caller's goroutine, so there is nothing to close
				zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxZstdWindow))
			if err != nil {
				return nil, err
			}
		}
		err = b.zstd.Reset(bytes.NewReader(wire))
		from = b.zstd
	default:
		return nil, &unsupportedEncoding
	}
	if err == nil {
		b.out.Reset()
		if encoding == "gzip" {
			b.out.Grow(int(gzipSize(wire, limit+1)) + bytes.MinRead) // and the room that ReadFrom needs to detect the end
		}
		_, err = b.out.ReadFrom(io.LimitReader(from, limit+1))
	}
	if err != nil {
		return nil, err
	}
	if int64(b.out.Len()) > limit {
		return nil, &bodyTooLarge
	}
	return b.out.Bytes(), nil
}

// gzipSize is the size that a body declares to have when decompressed (RFC 1952, ISIZE), up to limit. It saves growing by
// doubling, which takes two and a half times the memory. Reading the body shows its real size.
func gzipSize(wire []byte, limit int64) int64 {
	const trailer = 4
	if len(wire) < trailer {
		return 0
	}
	return min(int64(binary.LittleEndian.Uint32(wire[len(wire)-trailer:])), limit)
}

// contentEncoding is the request's content coding, "" for none.
func contentEncoding(h http.Header) (string, error) {
	switch coding := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ","))); coding {
	case "", "identity":
		return "", nil
	case "gzip", "zstd", "deflate":
		return coding, nil
	case "zlib": // the Collector's exporters have this name for deflate, whose form is zlib's (RFC 9110)
		return "deflate", nil
	default:
		return "", &unsupportedEncoding
	}
}

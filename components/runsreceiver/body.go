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
	// firstRead is what a body is charged before it has sent a byte; a slow or idle sender costs no more. growth is how
	// many times as much it gets when that is full.
	firstRead = 4 << 10
	growth    = 4

	// pooledSizes is how many sizes of buffers are kept for the next body: the largest has 1 MiB.
	pooledSizes = 5

	// maxZstdWindow is the largest window of the zstd content coding (RFC 9659). A decoder takes that much
	// memory outside any limit of the body's size.
	maxZstdWindow = 8 << 20
)

// intake bounds the memory that requests take. Bodies are read whole as they come on the wire, each charged to
// one budget as it grows, and only then decompressed and decoded, by as many at a time as there are processors:
// however slowly a client sends, it never holds a decompressor, and whatever a body inflates to, only so many
// inflate at once.
type intake struct {
	maxBody       int64
	budget        int64
	used          atomic.Int64
	places        chan struct{}
	decompressors sync.Pool // of *bench
	// buffers are what bodies were read into, *[]byte of firstRead and of growth times those before.
	buffers [pooledSizes]sync.Pool
}

// decompressor is what one decompression works with. Decompressors are pooled, so that what bombs made large is used again
// by the next and given back to the system when there is no next.
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
		places:        make(chan struct{}, runtime.GOMAXPROCS(0)),
		decompressors: sync.Pool{New: func() any { return &decompressor{} }},
	}
}

// charge is a request's share of the budget.
type charge struct {
	in *intake
	n  int64
}

// grow takes n bytes more.
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

// release gives everything back. It may be called once.
func (c *charge) release() { c.in.used.Add(-c.n) }

// read reads a request's body as it is on the wire, charged to c.
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
				size = int(known) // one more byte than the body, to meet its end without growing again
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

// pool has the buffers of one capacity; nil where such are not kept.
func (in *intake) pool(size int) *sync.Pool {
	for i, kept := 0, firstRead; i < pooledSizes; i, kept = i+1, kept*growth {
		if kept == size {
			return &in.buffers[i]
		}
	}
	return nil
}

// buffer is an empty one with this capacity.
func (in *intake) buffer(size int) []byte {
	if pool := in.pool(size); pool != nil {
		if kept, ok := pool.Get().(*[]byte); ok {
			return (*kept)[:0]
		}
	}
	return make([]byte, 0, size)
}

// recycle takes back a buffer that nobody looks at any more.
func (in *intake) recycle(buf []byte) {
	if pool := in.pool(cap(buf)); pool != nil {
		pool.Put(&buf)
	}
}

// decode waits for a processor, decompresses a body and hands it to fn, which must not keep it.
func (in *intake) decode(ctx context.Context, encoding string, wire []byte, fn func(body []byte) error) error {
	select {
	case in.places <- struct{}{}:
		defer func() { <-in.places }()
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
				zstd.WithDecoderConcurrency(1), // in the caller's goroutine: nothing to close
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
			b.out.Grow(int(gzipSize(wire, limit+1)) + bytes.MinRead) // and the room that ReadFrom wants to meet the end
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

// gzipSize is how large a body says it is when decompressed (RFC 1952, ISIZE), and no more than most. It saves growing by
// doubling, which takes two and a half times the memory; what the body really is shows when it is read.
func gzipSize(wire []byte, most int64) int64 {
	const trailer = 4
	if len(wire) < trailer {
		return 0
	}
	return min(int64(binary.LittleEndian.Uint32(wire[len(wire)-trailer:])), most)
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

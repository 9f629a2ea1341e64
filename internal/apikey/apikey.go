// Package apikey owns the form of Looptrace API keys: how they are made, read,
// hashed and compared, and what scopes they may have.
//
// A key is
//
//	lt_<public id>.<secret><checksum>
//
// with a public id of 16, a secret of 43 and a checksum of 6 characters, all of
// [0-9A-Za-z]. The public id finds the key's row and may be shown and logged.
// The secret is 32 random bytes; secret and checksum are stored as a SHA-256
// only. The checksum is the CRC32 (IEEE) of everything before it, so that a
// mistyped or cut-off key is told apart without a look-up, and secret scanners
// can be sure of what they found:
//
//	\blt_[0-9A-Za-z]{16}\.[0-9A-Za-z]{49}\b
package apikey

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/big"
	"strings"
)

const (
	prefix         = "lt_"
	publicIDLength = 16
	secretBytes    = 32
	secretLength   = 43 // 62^43 > 2^256
	checksumLength = 6  // 62^6 > 2^32

	publicIDEnd = len(prefix) + publicIDLength
	secretStart = publicIDEnd + len(".")
	secretEnd   = secretStart + secretLength
	length      = secretEnd + checksumLength
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// ErrMalformed is returned by Parse for text that cannot be a key. It does not contain the text, which may be most of
// a key.
var ErrMalformed = errors.New("malformed key")

// Key is an API key. Printing, logging or encoding it leaves out the secret: only [Key.Reveal] returns it.
type Key struct {
	text string
}

// Mint makes a new key.
func Mint() Key { return compose(randomInt(), randomInt()) }

// Derive makes the key of a secret seed: always the same one. It is for a process that needs a key without storing it.
func Derive(seed []byte) Key {
	id, secret := hmac.New(sha256.New, seed), hmac.New(sha256.New, seed)
	id.Write([]byte("public id"))
	secret.Write([]byte("secret"))
	return compose(new(big.Int).SetBytes(id.Sum(nil)), new(big.Int).SetBytes(secret.Sum(nil)))
}

// compose makes a key of two numbers of 256 bits.
func compose(id, secret *big.Int) Key {
	var text strings.Builder
	text.Grow(length)
	text.WriteString(prefix)
	// 62^16 is below 2^96, so reducing 256 bits to it leaves no relevant bias.
	text.WriteString(encode(id, publicIDLength))
	text.WriteByte('.')
	text.WriteString(encode(secret, secretLength))
	text.WriteString(checksum(text.String()))
	return Key{text: text.String()}
}

func randomInt() *big.Int {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return new(big.Int).SetBytes(random)
}

// Parse parses a key. It returns [ErrMalformed] if the form or the checksum is wrong: no stored key can match such
// text.
func Parse(text string) (Key, error) {
	if len(text) != length || text[:len(prefix)] != prefix || text[publicIDEnd] != '.' ||
		!isBase62(text[len(prefix):publicIDEnd]) || !isBase62(text[secretStart:]) ||
		text[secretEnd:] != checksum(text[:secretEnd]) {
		return Key{}, ErrMalformed
	}
	return Key{text: text}, nil
}

// PublicID returns the part of the key that identifies it and is not secret.
func (k Key) PublicID() string {
	if k.text == "" {
		return ""
	}
	return k.text[len(prefix):publicIDEnd]
}

// Reveal returns the whole key. It is for the one response that shows it to its owner.
func (k Key) Reveal() string { return k.text }

// Hash returns what is stored instead of the secret. A plain SHA-256 is enough for 256 random bits, which cannot be
// guessed.
func (k Key) Hash() [sha256.Size]byte {
	if k.text == "" {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256([]byte(k.text[secretStart:]))
}

// Matches reports in constant time whether stored is the key's hash. Call it with nil for a key that is not stored:
// it returns false and takes the same time.
func (k Key) Matches(stored []byte) bool {
	hash := k.Hash()
	if known := len(stored) == len(hash) && k.text != ""; !known {
		subtle.ConstantTimeCompare(hash[:], make([]byte, len(hash)))
		return false
	}
	return subtle.ConstantTimeCompare(hash[:], stored) == 1
}

// String returns the key without its secret.
func (k Key) String() string {
	if k.text == "" {
		return "no key"
	}
	return prefix + k.PublicID() + ".[redacted]"
}

// Format prints the key without its secret, whatever the verb.
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, k.String())
}

// LogValue returns the key without its secret.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText encodes the key without its secret.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// checksum returns the CRC32 of text in base62.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var digits [checksumLength]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = alphabet[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

// encode writes the lowest width digits of n in base62.
func encode(n *big.Int, width int) string {
	base := big.NewInt(int64(len(alphabet)))
	digit := new(big.Int)
	digits := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		digits[i] = alphabet[digit.Int64()]
	}
	return string(digits)
}

func isBase62(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

package providers

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// errUnreadable is returned for secrets that no key of the keyring encrypted.
var errUnreadable = errors.New("the secrets were encrypted with another key")

// secrets are what a connection keeps encrypted.
type secrets struct {
	APIKey  string            `json:"api_key,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Keyring encrypts the API keys and headers of connections with AES-256-GCM.
type Keyring struct {
	current string
	ciphers map[string]cipher.AEAD // by the id of the key
}

// NewKeyring derives a key from each secret (HKDF-SHA256, RFC 5869). The first one encrypts, all decrypt.
func NewKeyring(from ...[]byte) (*Keyring, error) {
	k := &Keyring{ciphers: map[string]cipher.AEAD{}}
	for _, secret := range from {
		key, err := hkdf.Key(sha256.New, secret, nil, "looptrace provider keys", 32)
		if err != nil {
			return nil, fmt.Errorf("derive the key of provider keys: %w", err)
		}
		id, err := hkdf.Key(sha256.New, secret, nil, "looptrace id of the key of provider keys", 4)
		if err != nil {
			return nil, fmt.Errorf("derive the id of the key of provider keys: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("create the cipher of provider keys: %w", err)
		}
		seal, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("create the cipher of provider keys: %w", err)
		}
		name := hex.EncodeToString(id)
		if k.current == "" {
			k.current = name
		}
		k.ciphers[name] = seal
	}
	if k.current == "" {
		return nil, errors.New("provider keys need a secret")
	}
	return k, nil
}

// seal encrypts the secrets of a connection. They can be decrypted for this connection only.
func (k *Keyring) seal(provider uuid.UUID, s secrets) ([]byte, error) {
	text, err := json.Marshal(s) //nolint:gosec // it is encrypted
	if err != nil {
		return nil, fmt.Errorf("encode the secrets of a connection: %w", err)
	}
	return k.ciphers[k.current].Seal(nil, nil, text, provider[:]), nil //nolint:gosec // the cipher generates the nonce
}

// open decrypts the secrets of a connection. It returns [errUnreadable] if it does not have their key.
func (k *Keyring) open(provider uuid.UUID, id string, sealed []byte) (secrets, error) {
	seal := k.ciphers[id]
	if seal == nil {
		return secrets{}, errUnreadable
	}
	text, err := seal.Open(nil, nil, sealed, provider[:])
	if err != nil {
		return secrets{}, errUnreadable
	}
	var s secrets
	if err := json.Unmarshal(text, &s); err != nil {
		return secrets{}, fmt.Errorf("decode the secrets of a connection: %w", err)
	}
	return s, nil
}

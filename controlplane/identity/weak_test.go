package identity

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWeakPasswords(t *testing.T) {
	t.Parallel()
	for _, password := range []string{
		"password1234", "Password1234", "P@ssw0rd1234", "password2026!", "passwordpassword", "MyPassword123", "123456789012", "210987654321", "aaaaaaaaaaaa",
		"abcabcabcabc", "qwertyuiop12", "1qaz2wsx3edc", "1q2w3e4r5t6y", "zxcvbnm,./12", "asdfghjkl123", "!@#$%^&*()12", "iloveyou1234", "letmeinplease", "administrator",
		"administrator1", "Welcome2026!", "Summer2026!!", "Looptrace2026", "liverpool1892", "monkeydragon", "superman12345", "qwerty123456", "changeme1234", "football2025",
		"ann.lee@example.com", "Ann.Lee@Example.com", "ann.lee.1234", "ann.lee12345", "leeleeleelee", "000000000000", "111222333444", "2026202620262026",
		strings.Repeat("password", 20), "            ",
	} {
		assert.True(t, isWeak(password, "ann.lee@example.com"), password)
	}
	for _, password := range []string{
		"correct horse battery", "plum gravel otter kiln", "a stranger's password", "a new password", "let me in, please", "xk2pq9vw7zrt", "Tr0ub4dor&3xkcd", "8391746205173", "ünïcödé wörds", "漢字漢語日本語文字列的密碼",
	} {
		assert.False(t, isWeak(password, "ann.lee@example.com"), password)
	}
}

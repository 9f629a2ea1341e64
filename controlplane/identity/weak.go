package identity

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"github.com/looptrace/looptrace/internal/problem"
)

// commonWords are what the passwords that people use most are made of, besides sequences and numbers.
//
//go:embed commonwords.txt
var commonWords string

// sequences are orders of characters that people follow: of the alphabet, of numbers and of keyboards.
var sequences = func() []string {
	var list []string
	for _, order := range []string{
		"abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop[]", "qwertzuiop", "azertyuiop", "asdfghjkl;'", "zxcvbnm,./", "yxcvbnm",
		"1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/", "qazwsxedcrfvtgbyhnujmikolp", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "a1b2c3d4e5f6g7h8", "!@#$%^&*()_+",
	} {
		backwards := []rune(order)
		for i, j := 0, len(backwards)-1; i < j; i, j = i+1, j-1 {
			backwards[i], backwards[j] = backwards[j], backwards[i]
		}
		list = append(list, order, string(backwards))
	}
	return list
}()

// plainLetters undoes the usual replacements of letters.
var plainLetters = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// Bits that a part of a password adds to what a guesser has to try. They are low: a guesser begins with what is common.
const (
	wordBits     = 9  // of one of about a thousand words
	sequenceBits = 5  // of three characters or more in an order, or of the same ones
	yearBits     = 5  // 1900 to 2099
	digitBits    = 3  // of another digit
	otherBits    = 5  // of another character
	enoughBits   = 30 // of a whole password
	longestPart  = 64 // bytes
)

// checkPassword refuses a new password that is among the first to be guessed: of common words, sequences and the account's address.
func checkPassword(location, password, email string) error {
	if isWeak(password, email) {
		return problem.InvalidField(location,
			"is too easy to guess: it is made of common words, sequences, numbers or your address. Take four or more words that have nothing to do with each other")
	}
	return nil
}

func isWeak(password, email string) bool {
	password, email = strings.ToLower(password), strings.ToLower(email)
	if password == email {
		return true
	}
	for size := 1; size <= len(password)/2; size++ { // a part that is repeated
		if len(password)%size == 0 && strings.Repeat(password[:size], len(password)/size) == password {
			password = password[:size]
			break
		}
	}
	words := map[string]bool{}
	for _, word := range strings.Fields(commonWords) {
		words[word] = true
	}
	account, domain, _ := strings.Cut(email, "@")
	for _, word := range []string{email, account, domain} {
		words[word] = true
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("@.-_+", r) }) {
			words[part] = len(part) > 2 || words[part]
		}
	}
	// least is the fewest bits of the password up to each byte.
	least := make([]int, len(password)+1)
	for end := 1; end <= len(password); end++ {
		least[end] = least[end-1] + bitsOf(password[end-1])
		for begin := max(0, end-longestPart); begin < end; begin++ {
			if bits := partBits(password[begin:end], words); bits > 0 {
				least[end] = min(least[end], least[begin]+bits)
			}
		}
	}
	return least[len(password)] < enoughBits
}

func bitsOf(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return digitBits
	case utf8.RuneStart(b):
		return otherBits
	default:
		return 0 // the rest of a letter
	}
}

// partBits returns the bits of a part that is one thing, or 0.
func partBits(part string, words map[string]bool) int {
	switch {
	case words[part]:
		return wordBits
	case words[plainLetters.Replace(part)]:
		return wordBits + 1
	case len(part) < 3:
		return 0
	case strings.Trim(part, part[:1]) == "":
		return sequenceBits
	case len(part) == 4 && (part[:2] == "19" || part[:2] == "20") && strings.Trim(part, "0123456789") == "":
		return yearBits
	}
	for _, order := range sequences {
		if strings.Contains(order, part) {
			return sequenceBits
		}
	}
	return 0
}

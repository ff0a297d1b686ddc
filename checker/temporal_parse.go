package checker

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A question of Find is a predicate, or joins predicates by words about time:
//
//	question  = sequence
//	sequence  = binary { "then" binary [ "while" binary ] }
//	binary    = or [ ( "until" | "before" | "since" ) or ]
//	or        = and { ( "or" | "||" ) and }
//	and       = unary { ( "and" | "&&" ) unary }
//	unary     = ( "eventually" | "always" | "never" | "next" | "finally" | "not" | "!" ) unary
//	          | "(" question ")" | predicate
//
// Whatever has no word about time in it is a predicate of expr-lang, as a whole.

// timeWords are the words that make a question one about time.
var timeWords = []string{"then", "while", "until", "before", "since", "eventually", "always", "never", "next", "finally"}

// questionError is a question that cannot be read, and where.
type questionError struct {
	text  string
	at    int // byte
	cause string
}

func (e *questionError) Error() string {
	at := min(e.at, len(e.text))
	line := strings.Count(e.text[:at], "\n") + 1
	start := strings.LastIndexByte(e.text[:at], '\n') + 1
	end := len(e.text)
	if i := strings.IndexByte(e.text[start:], '\n'); i >= 0 {
		end = start + i
	}
	column := utf8.RuneCountInString(e.text[start:at])
	where := fmt.Sprintf("column %d", column+1)
	if strings.Contains(e.text, "\n") {
		where = fmt.Sprintf("line %d, %s", line, where)
	}
	return fmt.Sprintf("question: %s (%s)\n | %s\n | %s^", e.cause, where, e.text[start:end], strings.Repeat(".", column))
}

// token is a piece of a question, as far as words about time and brackets need it.
type token struct {
	at, end int
	text    string
	word    bool
	depth   int // of brackets around it; a bracket has that of what is outside
	time    bool
}

// scan cuts a question into tokens. Strings and comments are as in expr-lang.
func scan(text string) ([]token, error) {
	var list []token
	var open []token
	fail := func(at int, format string, args ...any) ([]token, error) {
		return nil, &questionError{text, at, fmt.Sprintf(format, args...)}
	}
	if !utf8.ValidString(text) {
		return nil, &questionError{strings.ToValidUTF8(text, "?"), 0, "it is not UTF-8"}
	}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		t := token{at: i, end: i + size, depth: len(open)}
		switch {
		case unicode.IsSpace(c):
			i += size
			continue
		case strings.HasPrefix(text[i:], "//"):
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(text)
			}
			continue
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i:], "*/")
			if n < 0 {
				return fail(i, "the comment does not end")
			}
			i += n + 2
			continue
		case c == '"' || c == '\'' || c == '`':
			for t.end < len(text) && text[t.end] != byte(c) {
				if text[t.end] == '\\' && c != '`' {
					t.end++
				}
				t.end++
			}
			if t.end >= len(text) {
				return fail(i, "the string does not end")
			}
			t.end++
		case unicode.IsLetter(c) || c == '_' || c == '$':
			for t.end < len(text) {
				d, n := utf8.DecodeRuneInString(text[t.end:])
				if !unicode.IsLetter(d) && !unicode.IsDigit(d) && d != '_' && d != '$' {
					break
				}
				t.end += n
			}
			t.word = true
			name := len(list) > 0 && strings.HasSuffix(list[len(list)-1].text, ".")
			t.time = !name && slices.Contains(timeWords, text[i:t.end])
		case strings.ContainsRune("([{", c):
			open = append(open, t)
			if len(open) > maxNesting {
				return fail(i, "more than %d brackets within each other", maxNesting)
			}
		case strings.ContainsRune(")]}", c):
			if len(open) == 0 {
				return fail(i, "%q closes nothing", string(c))
			}
			if want := map[string]string{"(": ")", "[": "]", "{": "}"}[open[len(open)-1].text]; want != string(c) {
				return fail(i, "%q closes %q", string(c), open[len(open)-1].text)
			}
			open = open[:len(open)-1]
			t.depth = len(open)
		default:
			for _, op := range []string{"&&", "||", "??", "?.", "!=", "==", "<=", ">=", "..", "**"} {
				if strings.HasPrefix(text[i:], op) {
					t.end = i + len(op)
					break
				}
			}
		}
		t.text = text[t.at:t.end]
		if strings.ContainsAny(t.text, "([{") && t.end-t.at == 1 {
			open[len(open)-1].text = t.text
		}
		list = append(list, t)
		i = t.end
	}
	if len(open) > 0 {
		return fail(open[len(open)-1].at, "%q is not closed", open[len(open)-1].text)
	}
	return list, nil
}

// maxNesting bounds brackets and prefixes within each other.
const maxNesting = 200

// phrase is a question as it is written: an operator and what it joins, or, if it has
// no operator, a predicate.
type phrase struct {
	op      string // "", a word about time, "and", "or", "not"
	parts   []*phrase
	holding []*phrase // of "then": what holds before part i; nil where nothing need
	at      int
	text    string
}

// parser reads ranges of tokens.
type parser struct {
	text string
	list []token
	deep int
}

// parseQuestion reads a question.
func parseQuestion(text string) (*phrase, error) {
	list, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, list: list}
	return p.question(0, len(list))
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &questionError{p.text, at, fmt.Sprintf(format, args...)}
}

// place is where token i begins, or the text ends.
func (p *parser) place(i int) int {
	if i < len(p.list) {
		return p.list[i].at
	}
	return len(p.text)
}

func (p *parser) timeless(lo, hi int) bool {
	return !slices.ContainsFunc(p.list[lo:hi], func(t token) bool { return t.time })
}

// splits are the places of operators in a range, outside of brackets.
func (p *parser) splits(lo, hi int, ops ...string) []int {
	var at []int
	for i := lo; i < hi; i++ {
		t := &p.list[i]
		if t.depth == p.list[lo].depth && slices.Contains(ops, t.text) && (t.time || !slices.Contains(timeWords, t.text)) {
			at = append(at, i)
		}
	}
	return at
}

func (p *parser) question(lo, hi int) (*phrase, error) {
	if p.deep++; p.deep > 4*maxNesting {
		return nil, p.fail(p.place(lo), "more than %d operators within each other", 4*maxNesting)
	}
	defer func() { p.deep-- }()
	if lo >= hi {
		return nil, p.missing(lo)
	}
	if p.timeless(lo, hi) {
		return p.predicate(lo, hi), nil
	}
	for _, i := range p.splits(lo, hi, "?", ";") {
		return nil, p.fail(p.place(i), "beside a word about time, put what has %q in it in parentheses", p.list[i].text)
	}
	if at := p.splits(lo, hi, "then"); len(at) > 0 {
		return p.sequence(lo, hi, at)
	}
	if at := p.splits(lo, hi, "while"); len(at) > 0 {
		return nil, p.fail(p.place(at[0]), `"while" says what holds up to what follows a "then": P then Q while R`)
	}
	if at := p.splits(lo, hi, "until", "before", "since"); len(at) > 0 {
		if len(at) > 1 {
			return nil, p.fail(p.place(at[1]), "which of %q and %q comes first? Use parentheses", p.list[at[0]].text, p.list[at[1]].text)
		}
		return p.joined(p.list[at[0]].text, lo, hi, at)
	}
	if at := p.splits(lo, hi, "or", "||"); len(at) > 0 {
		return p.joined("or", lo, hi, at)
	}
	if at := p.splits(lo, hi, "and", "&&"); len(at) > 0 {
		return p.joined("and", lo, hi, at)
	}
	first := p.list[lo]
	switch {
	case first.time || first.text == "not" || first.text == "!":
		inner, err := p.question(lo+1, hi)
		if err != nil {
			return nil, err
		}
		op := first.text
		if op == "!" {
			op = "not"
		}
		return p.phrase(op, lo, hi, inner), nil
	case first.text == "(" && p.closes(lo) == hi-1:
		return p.question(lo+1, hi-1)
	}
	for i := lo; i < hi; i++ {
		if p.list[i].time {
			return nil, p.fail(p.place(i), "%q cannot stand within a predicate", p.list[i].text)
		}
	}
	panic("unreachable: the range has a word about time")
}

func (p *parser) missing(at int) error {
	if at > 0 {
		return p.fail(p.place(at), "a predicate is missing after %q", p.list[at-1].text)
	}
	return p.fail(p.place(at), "a predicate is missing")
}

// closes is where the bracket at i is closed.
func (p *parser) closes(i int) int {
	for j := i + 1; j < len(p.list); j++ {
		if p.list[j].depth == p.list[i].depth {
			return j
		}
	}
	return -1
}

func (p *parser) phrase(op string, lo, hi int, parts ...*phrase) *phrase {
	return &phrase{op: op, parts: parts, at: p.place(lo), text: p.text[p.place(lo):p.list[hi-1].end]}
}

func (p *parser) predicate(lo, hi int) *phrase { return p.phrase("", lo, hi) }

func (p *parser) joined(op string, lo, hi int, at []int) (*phrase, error) {
	out := p.phrase(op, lo, hi)
	for _, i := range append(at, hi) {
		part, err := p.question(lo, i)
		if err != nil {
			return nil, err
		}
		out.parts = append(out.parts, part)
		lo = i + 1
	}
	return out, nil
}

func (p *parser) sequence(lo, hi int, at []int) (*phrase, error) {
	out := p.phrase("then", lo, hi)
	for n, i := range append(at, hi) {
		if lo >= i {
			return nil, p.missing(lo)
		}
		end := i
		var holding *phrase
		if w := p.splits(lo, i, "while"); len(w) > 0 {
			switch {
			case n == 0:
				return nil, p.fail(p.place(w[0]), `"while" says what holds up to what follows a "then": P then Q while R`)
			case len(w) > 1:
				return nil, p.fail(p.place(w[1]), `one "while" for each "then"`)
			}
			var err error
			if holding, err = p.question(w[0]+1, i); err != nil {
				return nil, err
			}
			end = w[0]
		}
		part, err := p.question(lo, end)
		if err != nil {
			return nil, err
		}
		out.parts, out.holding = append(out.parts, part), append(out.holding, holding)
		lo = i + 1
	}
	return out, nil
}

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hamba/avro/v2"
	"github.com/quorate/quorate/impl/registry/state"
)

var schemaTypes = []string{"AVRO", "JSON", "PROTOBUF"}

func invalid(format string, args ...any) error {
	return &state.Refusal{Code: 42201, Message: "Invalid schema: " + fmt.Sprintf(format, args...)}
}

// schemaOf reads a schema that a client sent. JSON without the blanks that mean nothing is
// what is kept.
func schemaOf(body io.Reader) (b schemaBody, err error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, invalid("%v", err)
	}
	if b.SchemaType == "" {
		b.SchemaType = "AVRO"
	}
	if !slices.Contains(schemaTypes, b.SchemaType) {
		return b, invalid("type %s is not one of %s", b.SchemaType, strings.Join(schemaTypes, ", "))
	}
	if strings.TrimSpace(b.Schema) == "" {
		return b, invalid("it is empty")
	}
	if b.SchemaType != "PROTOBUF" {
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(b.Schema)); err != nil {
			return b, invalid("%v", err)
		}
		b.Schema = compact.String()
	}
	return b, nil
}

// parse parses an Avro schema with what it refers to, if it can be found.
func (s *Server) parse(ctx context.Context, textOf string, refs []state.Reference) (avro.Schema, error) {
	cache := &avro.SchemaCache{}
	var load func(refs []state.Reference, depth int) error
	load = func(refs []state.Reference, depth int) error {
		if depth > 16 {
			return invalid("references are nested more than 16 deep")
		}
		for _, r := range refs {
			v, err := s.db().Version(ctx, r.Subject, r.Version, true)
			if err != nil {
				return invalid("no schema reference found for subject %q and version %d", r.Subject, r.Version)
			}
			if err := load(v.References, depth+1); err != nil {
				return err
			}
			if _, err := avro.ParseBytesWithCache([]byte(v.Text), "", cache); err != nil {
				return invalid("reference %s: %v", r.Name, err)
			}
		}
		return nil
	}
	if err := load(refs, 0); err != nil {
		return nil, err
	}
	schema, err := avro.ParseBytesWithCache([]byte(textOf), "", cache)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return schema, nil
}

// check says against which version of a subject a schema was found compatible, and at
// which level; the operation holds only if both are the same when it is applied.
func (s *Server) check(ctx context.Context, subject string, b schemaBody) (latest int, level string, err error) {
	if level, err = s.db().Level(ctx, subject, true); err != nil {
		return 0, "", err
	}
	versions, err := s.db().Versions(ctx, subject, false)
	if refused := (*state.Refusal)(nil); errors.As(err, &refused) {
		versions, err = nil, nil
	}
	if err != nil {
		return 0, "", err
	}
	if n := len(versions); n > 0 {
		latest = versions[n-1]
	}
	bad, err := s.incompatible(ctx, subject, versions, level, b)
	if err != nil {
		return 0, "", err
	}
	if len(bad) > 0 {
		return 0, "", &state.Refusal{Code: 409, Message: fmt.Sprintf("Schema being registered is incompatible with an earlier schema for subject \"%s\": %s", subject, strings.Join(bad, "; "))}
	}
	return latest, level, nil
}

// incompatible says what of the versions a schema is not compatible with, at a level.
func (s *Server) incompatible(ctx context.Context, subject string, versions []int, level string, b schemaBody) (bad []string, err error) {
	var schema avro.Schema
	if b.SchemaType == "AVRO" {
		if schema, err = s.parse(ctx, b.Schema, b.References); err != nil {
			return nil, err
		}
	}
	if level == "NONE" || len(versions) == 0 {
		return nil, nil
	}
	if !strings.HasSuffix(level, "_TRANSITIVE") {
		versions = versions[len(versions)-1:]
	}
	how := avro.NewSchemaCompatibility()
	for _, v := range versions {
		old, err := s.db().Version(ctx, subject, v, false)
		if err != nil {
			return nil, err
		}
		if old.Type != b.SchemaType {
			bad = append(bad, fmt.Sprintf("version %d is of type %s", v, old.Type))
			continue
		}
		if schema == nil {
			// Rather refused than let through unseen.
			if old.Text != b.Schema {
				bad = append(bad, fmt.Sprintf("compatibility of %s is not checked by this registry: set the subject to NONE", b.SchemaType))
			}
			continue
		}
		before, err := s.parse(ctx, old.Text, old.References)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(level, "FORWARD") {
			if err := how.Compatible(schema, before); err != nil {
				bad = append(bad, fmt.Sprintf("it cannot read what version %d wrote: %v", v, err))
			}
		}
		if !strings.HasPrefix(level, "BACKWARD") {
			if err := how.Compatible(before, schema); err != nil {
				bad = append(bad, fmt.Sprintf("version %d cannot read what it writes: %v", v, err))
			}
		}
	}
	return bad, nil
}

func (s *Server) compatible(r *http.Request) (any, error) {
	b, err := schemaOf(r.Body)
	if err != nil {
		return nil, err
	}
	subject := r.PathValue("subject")
	level, err := s.db().Level(r.Context(), subject, true)
	if err != nil {
		return nil, err
	}
	var versions []int
	if r.PathValue("version") != "" {
		v, err := s.find(r)
		if err != nil {
			return nil, err
		}
		versions = []int{v.Version}
	} else if versions, err = s.db().Versions(r.Context(), subject, false); err != nil {
		return nil, err
	}
	bad, err := s.incompatible(r.Context(), subject, versions, level, b)
	result := map[string]any{"is_compatible": len(bad) == 0}
	if flagOf(r, "verbose") {
		result["messages"] = append([]string{}, bad...)
	}
	return result, err
}

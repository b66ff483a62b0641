// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/base/result.h"
#include "core/text/alignedtext.h"

#include <functional>
#include <optional>
#include <vector>

namespace retro::text
{

/// A step that cuts a text into the pieces in which tokens are looked for.
using PreTokeniser = std::function<base::Result<void>(std::vector<AlignedText>&)>;

/// The pre-tokeniser of a tokenizer.json: Split, ByteLevel, Metaspace, Whitespace, WhitespaceSplit, Digits,
/// Punctuation, CharDelimiterSplit, BertPreTokenizer, Sequence. Errors (Input): another one, by its name; fields that
/// are wrong.
[[nodiscard]] base::Result<PreTokeniser> readPreTokeniser(const base::JsonFields& fields);

/// When Metaspace, of the pre-tokeniser or the decoder, puts its sign before a text.
enum class Prepends { Always, First, Never };
[[nodiscard]] base::Result<Prepends> readPrepends(const base::JsonFields& fields);

} // namespace retro::text

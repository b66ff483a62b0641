// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/base/result.h"
#include "core/text/alignedtext.h"

#include <functional>
#include <vector>

namespace retro::text
{

/// A step that changes a text before it is cut.
using Normaliser = std::function<base::Result<void>(AlignedText&)>;

/// The normaliser of a tokenizer.json: NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Replace, Prepend, Strip,
/// BertNormalizer, ByteLevel, Sequence. Errors (Input): another one, by its name; fields that are wrong.
[[nodiscard]] base::Result<Normaliser> readNormaliser(const base::JsonFields& fields);

/// Each byte as one character that can be seen: the alphabet of byte-level tokenisers.
[[nodiscard]] char32_t visibleByte(unsigned char byte);
/// The byte that such a character stands for; -1 for any other.
[[nodiscard]] int byteOfVisible(char32_t code);
void makeBytesVisible(AlignedText& text);

} // namespace retro::text

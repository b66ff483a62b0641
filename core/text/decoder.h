// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/base/result.h"

#include <functional>
#include <string>
#include <vector>

namespace retro::text
{

/// A step from the texts of tokens to the text that they stand for, which is all that is left, put together.
using Decoder = std::function<base::Result<std::vector<std::string>>(std::vector<std::string>)>;

/// The decoder of a tokenizer.json: ByteLevel, Metaspace, WordPiece, ByteFallback, BPEDecoder, Fuse, Strip, Replace,
/// Sequence. Errors (Input): another one, by its name; fields that are wrong.
[[nodiscard]] base::Result<Decoder> readDecoder(const base::JsonFields& fields);

} // namespace retro::text

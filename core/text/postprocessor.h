// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/jsonfields.h"
#include "core/base/result.h"
#include "core/text/alignedtext.h"
#include "core/text/tokenmodel.h"

#include <functional>
#include <string>
#include <vector>

namespace retro::text
{

/// A token of a whole text.
struct Token
{
    TokenId id = 0;
    Range place;                    ///< characters of the text; 0 to 0 for one that was put in
    bool isPutIn = false;           ///< by the post-processor, such as [CLS]
    std::uint32_t spacesBefore = 0; ///< that its text begins with
    std::uint32_t spacesBehind = 0;
};

/// Counts the spaces around the text of a token.
void countSpaces(std::string_view written, Token& token);

/// A step after all tokens are found. `withSpecials`: whether tokens such as [CLS] come in. Throws base::Failure
/// (Input) where it makes too many of them, or a template stands behind one with other than one or two pieces.
using PostProcessor = std::function<void(std::vector<Token>& tokens, bool withSpecials)>;

/// The post-processor of a tokenizer.json: TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing, Sequence.
/// Errors (Input): another one, by its name; fields that are wrong.
[[nodiscard]] base::Result<PostProcessor> readPostProcessor(const base::JsonFields& fields);

} // namespace retro::text

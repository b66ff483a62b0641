// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/tokenwords.h"

#include <fmt/format.h>

namespace retro::engine
{

namespace
{

std::string wordOf(const formats::ModelCard& card, double number)
{
    const bool isWord = number >= 0 && number < static_cast<double>(card.vocabulary.size());
    return isWord ? card.vocabulary[static_cast<std::size_t>(number)]
                  : fmt::format("#{}", static_cast<std::int64_t>(number));
}

} // namespace

std::vector<std::string> tokenWords(const formats::ModelCard& card, const tensor::Tensor& tokens)
{
    std::vector<std::string> words;
    const bool isText = tokens.isValid() && !tensor::isFloating(tokens.dtype()) && tokens.rank() == 2 &&
                        tokens.shape()[0] == 1 && !card.vocabulary.empty();
    if (isText) {
        const tensor::Tensor plain = tokens.contiguous();
        for (std::int64_t i = 0; i < plain.size(); ++i) {
            words.push_back(wordOf(card, plain.at(i)));
        }
    }
    return words;
}

} // namespace retro::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"

#include <QString>

#include <cstdint>
#include <stop_token>
#include <vector>

namespace retro::views
{

/// What a term of a filter looks at.
enum class LogField : std::uint8_t { Word, Mode, Kind, Node, Op, Promise, Visit, Event, Bytes };

/// One condition: a text for names, a closed range for numbers.
struct LogTerm
{
    LogField field = LogField::Word;
    bool isNegative = false;
    QString text;
    double low = 0;
    double high = 0;
};

/// The filter language of the event log: terms separated by blanks, all of which must hold.
///
///   mode:fulfil       normal, search or fulfilment, as short as you like (n, t and f too); several: mode:t,f
///   kind:land         begins so; several: kind:land,take
///   node:/attn/       regular expression between slashes, else a part of the name; op:Conv the operator the same way
///   promise:3         P3 too
///   visit:10..20      also visit>9, visit<=20, event:100..200; counted from 1 as on screen
///   bytes>1k          size of the tensor; k, M and G are powers of 1,024
///   conv              without a colon: a part of the name, the operator or the kind
///   -kind:push        a leading - turns a term round
class LogFilter
{
public:
    /// Error (Usage): names the term that is unclear and says how it should look.
    [[nodiscard]] static base::Result<LogFilter> parse(const QString& text);

    /// The same, and in addition only visits from `first` to `last`, counted from 0.
    [[nodiscard]] LogFilter within(std::uint32_t first, std::uint32_t last) const;

    [[nodiscard]] bool isEmpty() const { return m_terms.empty(); }
    [[nodiscard]] const std::vector<LogTerm>& terms() const { return m_terms; }
    /// Steps of the events that match, ascending. Linear in the events; empty when stopped.
    [[nodiscard]] std::vector<std::uint32_t> rows(const trace::Run& run, const std::stop_token& token = {}) const;

private:
    std::vector<LogTerm> m_terms;
};

} // namespace retro::views

// SPDX-License-Identifier: Apache-2.0
#include "views/log/logfilter.h"

#include "views/log/eventwords.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace retro::views
{

namespace
{

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

QString filterText(const char* text) { return QCoreApplication::translate("retro::views::LogFilter", text); }

base::Error unclear(const QString& term, const QString& remedy)
{
    return base::usageError(filterText("'%1' is unclear: %2").arg(term, remedy).toStdString());
}

struct FieldWord
{
    const char* word;
    LogField field;
};
constexpr std::array kFields{FieldWord{"mode", LogField::Mode},   FieldWord{"kind", LogField::Kind},
                             FieldWord{"node", LogField::Node},   FieldWord{"op", LogField::Op},
                             FieldWord{"visit", LogField::Visit}, FieldWord{"event", LogField::Event},
                             FieldWord{"bytes", LogField::Bytes}, FieldWord{"promise", LogField::Promise}};

std::optional<LogField> fieldOf(const QString& word)
{
    for (const FieldWord& entry : kFields) {
        if (word.compare(QLatin1String(entry.word), Qt::CaseInsensitive) == 0) {
            return entry.field;
        }
    }
    return std::nullopt;
}

bool isNumeric(LogField field)
{
    return field == LogField::Visit || field == LogField::Event || field == LogField::Bytes ||
           field == LogField::Promise;
}

/// "1k" → 1000; "P3" → 3.
std::optional<double> numberOf(QString text)
{
    double factor = 1;
    if (text.startsWith(QLatin1Char('P'), Qt::CaseInsensitive)) {
        text.remove(0, 1);
    }
    const QString units = QStringLiteral("kMG");
    const qsizetype unit = text.isEmpty() ? -1 : units.indexOf(text.back(), 0, Qt::CaseInsensitive);
    if (unit >= 0) {
        text.chop(1);
        factor = std::pow(1000.0, static_cast<double>(unit + 1));
    }
    bool isNumber = false;
    const double value = text.toDouble(&isNumber) * factor;
    return isNumber && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Fills the range of a numeric term; false when the text is no number or range.
bool readRange(LogTerm& term, const QString& comparison, const QString& text)
{
    const qsizetype dots = text.indexOf(QStringLiteral(".."));
    const auto low = numberOf(dots < 0 ? text : text.left(dots));
    const auto high = dots < 0 ? low : numberOf(text.mid(dots + 2));
    if (!low || !high) {
        return false;
    }
    term.low = *low;
    term.high = *high;
    if (comparison.startsWith(QLatin1Char('>'))) {
        term.low = comparison == QLatin1String(">") ? std::nextafter(*low, kNoLimit) : *low;
        term.high = kNoLimit;
    } else if (comparison.startsWith(QLatin1Char('<'))) {
        term.low = -kNoLimit;
        term.high = comparison == QLatin1String("<") ? std::nextafter(*high, -kNoLimit) : *high;
    }
    return true;
}

base::Result<LogTerm> readTerm(QString text)
{
    static const QRegularExpression kForm(QStringLiteral("^([A-Za-z]+)(:|>=|<=|>|<|=)(.*)$"));
    const QString whole = text;
    LogTerm term;
    if (text.size() > 1 && text.startsWith(QLatin1Char('-'))) {
        term.isNegative = true;
        text.remove(0, 1);
    }
    const QRegularExpressionMatch match = kForm.match(text);
    const auto field = match.hasMatch() ? fieldOf(match.captured(1)) : std::nullopt;
    if (!match.hasMatch()) {
        term.text = text;
        return term;
    }
    if (!field) {
        return unclear(whole, filterText("fields are mode, kind, node, op, promise, visit, event and bytes."));
    }
    term.field = *field;
    term.text = match.captured(3);
    if (term.text.isEmpty()) {
        return unclear(whole, filterText("something must follow the colon."));
    }
    if (isNumeric(*field) && !readRange(term, match.captured(2), term.text)) {
        return unclear(whole, filterText("write a number or a range, such as 12, 1k or 10..20."));
    }
    return term;
}

/// Names that a text part or a /regular expression/ finds.
class NameTest
{
public:
    explicit NameTest(const QString& text)
    {
        const bool isPattern = text.size() > 2 && text.startsWith(QLatin1Char('/')) && text.endsWith(QLatin1Char('/'));
        if (isPattern) {
            m_pattern.emplace(text.mid(1, text.size() - 2), QRegularExpression::CaseInsensitiveOption);
        }
        m_part = text;
    }
    [[nodiscard]] bool isValid() const { return !m_pattern || m_pattern->isValid(); }
    [[nodiscard]] bool matches(std::string_view name) const
    {
        const QString text = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
        return m_pattern ? m_pattern->match(text).hasMatch() : text.contains(m_part, Qt::CaseInsensitive);
    }

private:
    std::optional<QRegularExpression> m_pattern;
    QString m_part;
};

bool isNameTerm(const LogTerm& term)
{
    return term.field == LogField::Node || term.field == LogField::Op || term.field == LogField::Word;
}

constexpr std::size_t kModes = 4;
constexpr std::size_t kKinds = event::kEventKindCount;

bool isMode(const QString& word, event::Mode mode)
{
    constexpr std::array<const char*, kModes> kNames{"none", "normal", "search", "fulfilment"};
    constexpr std::array<const char*, kModes> kLetters{"-", "n", "t", "f"};
    const auto at = static_cast<std::size_t>(mode);
    return QLatin1String(kLetters[at]).compare(word, Qt::CaseInsensitive) == 0 ||
           QString::fromLatin1(kNames[at]).startsWith(word, Qt::CaseInsensitive);
}

/// A term prepared for a run: names are looked up once per node and kind, never per event.
class Matcher
{
public:
    Matcher(const LogTerm& term, const trace::Run& run) : m_term(term), m_run(run)
    {
        if (isNameTerm(term)) {
            findNodes();
        }
        findKinds();
        const QStringList words = term.text.split(QLatin1Char(','), Qt::SkipEmptyParts);
        for (std::size_t mode = 0; term.field == LogField::Mode && mode < kModes; ++mode) {
            m_modes[mode] = std::any_of(words.begin(), words.end(), [&](const QString& word) {
                return isMode(word, static_cast<event::Mode>(mode));
            });
        }
    }

    [[nodiscard]] bool holds(std::uint64_t step, const std::vector<event::Mode>& modes) const
    {
        return isMet(m_run.events[step], step, modes) != m_term.isNegative;
    }

private:
    void findNodes()
    {
        const NameTest test(m_term.text);
        m_nodes.resize(m_run.graph->runNodeCount());
        for (std::size_t i = 0; i < m_nodes.size(); ++i) {
            const base::NodeId node(i);
            const bool byName = m_term.field != LogField::Op && test.matches(m_run.graph->labelOf(node));
            const bool byOp = m_term.field != LogField::Node && test.matches(m_run.graph->opOf(node));
            m_nodes[i] = byName || byOp ? 1 : 0;
        }
    }
    void findKinds()
    {
        const QStringList words = m_term.text.split(QLatin1Char(','), Qt::SkipEmptyParts);
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
            const std::string_view name = event::nameOf(static_cast<event::EventKind>(kind));
            const QString text = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
            const QString shown = eventKindWord(static_cast<event::EventKind>(kind));
            m_kinds[kind] = std::any_of(words.begin(), words.end(), [&](const QString& word) {
                return text.startsWith(word, Qt::CaseInsensitive) || shown.startsWith(word, Qt::CaseInsensitive);
            });
        }
    }
    [[nodiscard]] bool hasNode(const trace::Event& e) const { return e.node < m_nodes.size() && m_nodes[e.node] != 0; }
    [[nodiscard]] bool inRange(double value) const { return value >= m_term.low && value <= m_term.high; }
    [[nodiscard]] bool isMet(const trace::Event& e, std::uint64_t step, const std::vector<event::Mode>& modes) const
    {
        switch (m_term.field) {
        case LogField::Word:
            return hasNode(e) || m_kinds[static_cast<std::size_t>(e.kind)];
        case LogField::Mode:
            return e.visit < modes.size() && m_modes[static_cast<std::size_t>(modes[e.visit])];
        case LogField::Kind:
            return m_kinds[static_cast<std::size_t>(e.kind)];
        case LogField::Node:
        case LogField::Op:
            return hasNode(e);
        case LogField::Promise:
            return e.promise != base::PromiseId::kInvalid && inRange(e.promise);
        case LogField::Visit:
            return inRange(static_cast<double>(e.visit) + 1);
        case LogField::Event:
            return inRange(static_cast<double>(step) + 1);
        case LogField::Bytes:
            break;
        }
        return e.handle < m_run.handles.size() && inRange(static_cast<double>(m_run.handles[e.handle].bytes));
    }

    const LogTerm& m_term;
    const trace::Run& m_run;
    std::vector<std::uint8_t> m_nodes;
    std::array<bool, kKinds> m_kinds{};
    std::array<bool, kModes> m_modes{};
};

std::vector<event::Mode> modesOf(const trace::Run& run)
{
    std::vector<event::Mode> modes(run.visitCount(), event::Mode::None);
    for (const trace::Event& e : run.events) {
        if (e.kind == event::EventKind::Visit && e.visit < modes.size()) {
            modes[e.visit] = e.mode;
        }
    }
    return modes;
}

} // namespace

base::Result<LogFilter> LogFilter::parse(const QString& text)
{
    LogFilter filter;
    for (const QString& word : text.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        base::Result<LogTerm> term = readTerm(word);
        if (!term) {
            return term.error();
        }
        if (isNameTerm(*term) && !NameTest(term->text).isValid()) {
            return unclear(word, filterText("this is no regular expression."));
        }
        filter.m_terms.push_back(std::move(*term));
    }
    return filter;
}

LogFilter LogFilter::within(std::uint32_t first, std::uint32_t last) const
{
    LogFilter out = *this;
    out.m_terms.push_back({LogField::Visit, false, {}, first + 1.0, last + 1.0});
    return out;
}

std::vector<std::uint32_t> LogFilter::rows(const trace::Run& run, const std::stop_token& token) const
{
    constexpr std::uint64_t kLook = 4096; // events between two looks at the token
    std::vector<Matcher> matchers;
    for (const LogTerm& term : m_terms) {
        matchers.emplace_back(term, run);
    }
    const std::vector<event::Mode> modes = modesOf(run);
    std::vector<std::uint32_t> found;
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        if (step % kLook == 0 && token.stop_requested()) {
            return {};
        }
        const bool matches = std::all_of(matchers.begin(), matchers.end(),
                                         [&](const Matcher& matcher) { return matcher.holds(step, modes); });
        if (matches) {
            found.push_back(static_cast<std::uint32_t>(step));
        }
    }
    return found;
}

} // namespace retro::views

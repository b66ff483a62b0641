// SPDX-License-Identifier: Apache-2.0
#include "views/text/textfocus.h"

#include "core/base/visibletext.h"
#include "views/common/paint/fonts.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>
#include <map>

namespace retro::views
{

namespace
{

QString quoted(const trace::TextWord& word)
{
    return word.text.empty() ? QString::number(word.id)
                             : QStringLiteral("“%1”").arg(QString::fromStdString(base::visibleText(word.text)));
}

/// A token on one line.
QString shownWord(const std::string& text)
{
    QString word = QString::fromStdString(text);
    if (word.trimmed().isEmpty()) {
        word.replace(QLatin1Char('\n'), QStringLiteral("⏎"));
        word.replace(QLatin1Char('\r'), QStringLiteral("␍"));
        word.replace(QLatin1Char('\t'), QStringLiteral("⇥"));
        word.replace(QLatin1Char(' '), QStringLiteral("␣"));
        return word;
    }
    return QString::fromStdString(base::visibleText(word.trimmed().toStdString()));
}

} // namespace

void TextFocus::setText(std::shared_ptr<const trace::RunText> text)
{
    const bool isSame =
        m_text && text && m_text->given == text->given &&
        std::equal(m_text->tokens.begin(), m_text->tokens.begin() + static_cast<std::ptrdiff_t>(m_text->given),
                   text->tokens.begin());
    m_text = std::move(text);
    m_areLinksKnown = false;
    m_words.clear();
    m_widths.clear();
    for (std::size_t i = 0; m_text && i < m_text->tokens.size(); ++i) {
        m_words.push_back(shownWord(m_text->tokens[i].text));
    }
    if (!isSame) {
        m_step = 0;
        m_head = m_token = -1;
        m_left = 0;
        m_layer = 0;
    }
    clampAll();
    emit textChanged();
}

void TextFocus::clampAll()
{
    if (!hasText()) {
        m_step = m_layer = 0;
        m_head = m_token = -1;
        return;
    }
    m_step = std::clamp(m_step, 0, static_cast<int>(m_text->steps.size()) - 1);
    m_layer = std::clamp(m_layer, 0, std::max(0, layerCount() - 1));
    m_head = m_head < headCount() ? m_head : -1;
    m_token = m_token < tokenCount() ? m_token : -1;
}

double TextFocus::atLayer(int row, int token) const
{
    const tensor::Tensor& layers = shown().layers;
    return layers.isValid() ? layers.data<double>()[static_cast<std::int64_t>(row) * tokenCount() + token] : 0;
}

double TextFocus::atHead(int head, int token) const
{
    const tensor::Tensor& heads = shown().heads;
    const std::int64_t line = static_cast<std::int64_t>(m_layer) * tokenCount() + token;
    return heads.isValid() ? heads.data<double>()[line * headCount() + head] : 0;
}

const std::vector<DrawnLink>& TextFocus::links() const
{
    if (m_areLinksKnown) {
        return m_links;
    }
    m_links.clear();
    std::map<std::pair<int, int>, double> sums;
    for (const trace::TextLink& link : shown().links) {
        if (link.layer == m_layer && (m_head < 0 || link.head == m_head)) {
            sums[{link.query, link.key}] += link.relevance;
        }
    }
    for (const auto& [ends, relevance] : sums) {
        m_links.push_back({ends.first, ends.second, relevance});
    }
    std::ranges::stable_sort(
        m_links, [](const DrawnLink& a, const DrawnLink& b) { return std::abs(a.relevance) > std::abs(b.relevance); });
    m_areLinksKnown = true;
    return m_links;
}

QString TextFocus::wordWithin(int token, double width) const
{
    if (m_fontScale != fonts::scale() || m_widths.size() != m_words.size()) {
        m_fontScale = fonts::scale();
        m_widths.assign(m_words.size(), -1);
    }
    double& own = m_widths[static_cast<std::size_t>(token)];
    const QFont font = fonts::label(QFont::DemiBold);
    own = own < 0 ? fonts::widthOf(font, word(token)) : own; // measuring takes longer than drawing
    return own <= width ? word(token) : QFontMetricsF(font).elidedText(word(token), Qt::ElideRight, width);
}

QString TextFocus::stepTitle(int step) const
{
    const trace::TextStep& asked = m_text->steps[static_cast<std::size_t>(step)];
    if (asked.position < 0) {
        return QString::fromStdString(asked.target.text);
    }
    QString title = quoted(asked.target);
    for (std::size_t i = 0; i < asked.contrast.size(); ++i) {
        title += (i == 0 ? tr(" instead of ") : QStringLiteral(", ")) + quoted(asked.contrast[i]);
    }
    return title;
}

QString TextFocus::stepLabel(int step) const
{
    const auto at = static_cast<std::size_t>(step);
    if (step == 0) {
        return stepTitle(step);
    }
    const std::int64_t place = m_text->steps[at].position - static_cast<std::int64_t>(m_text->source);
    return m_text->tokenOf(at) ? tr("step %1: %2").arg(step).arg(stepTitle(step))
                               : tr("position %1: %2").arg(place).arg(stepTitle(step));
}

void TextFocus::setStep(int step)
{
    if (hasText() && step != m_step && step >= 0 && step < static_cast<int>(m_text->steps.size())) {
        m_step = step;
        m_areLinksKnown = false;
        clampAll();
        emit changed();
    }
}

void TextFocus::setLayer(int layer)
{
    if (hasText() && layer != m_layer && layer >= 0 && layer < layerCount()) {
        m_layer = layer;
        m_areLinksKnown = false;
        emit changed();
    }
}

void TextFocus::setHead(int head)
{
    if (hasText() && head != m_head && head >= -1 && head < headCount()) {
        m_head = head;
        m_areLinksKnown = false;
        emit changed();
    }
}

void TextFocus::setToken(int token)
{
    if (hasText() && token != m_token && token >= -1 && token < tokenCount()) {
        m_token = token;
        emit changed();
    }
}

void TextFocus::setLeft(double left)
{
    if (left != m_left) {
        m_left = left;
        emit scrolled();
    }
}

void TextFocus::setColumnWidth(double width)
{
    if (width != m_columnWidth) {
        m_columnWidth = width;
        emit scrolled();
    }
}

} // namespace retro::views

#include "moc_textfocus.cpp"

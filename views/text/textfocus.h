// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/runtext.h"

#include <QObject>
#include <QString>

#include <memory>
#include <vector>

namespace retro::views
{

/// A link as it is drawn: of one head, or what all heads handed on together.
struct DrawnLink
{
    int query = 0;
    int key = 0;
    double relevance = 0;
};

/// What the views of a text look at together: which explained step, which attention, which heads, which token, and
/// which part of a long text is in sight. One per window, beside cursor and selection. GUI thread.
class TextFocus final : public QObject
{
    Q_OBJECT

public:
    explicit TextFocus(QObject* parent = nullptr) : QObject(parent) {}

    /// Another text, or the same one with further steps (what is looked at stays where it is there); null = none.
    void setText(std::shared_ptr<const trace::RunText> text);
    [[nodiscard]] bool hasText() const { return m_text && !m_text->steps.empty(); }
    [[nodiscard]] const std::shared_ptr<const trace::RunText>& text() const { return m_text; }

    // The rest needs hasText().
    /// The explained step that is shown; 0 is the question of the run.
    [[nodiscard]] int step() const { return m_step; }
    [[nodiscard]] const trace::TextStep& shown() const { return m_text->steps[static_cast<std::size_t>(m_step)]; }
    [[nodiscard]] int tokenCount() const { return static_cast<int>(shown().relevance.size()); }
    [[nodiscard]] int layerCount() const { return static_cast<int>(shown().layerCount()); }
    [[nodiscard]] int headCount() const { return static_cast<int>(shown().headCount()); }
    /// The attention whose links are shown, from 0.
    [[nodiscard]] int layer() const { return m_layer; }
    /// −1: all heads together.
    [[nodiscard]] int head() const { return m_head; }
    /// −1: none.
    [[nodiscard]] int token() const { return m_token; }
    /// The first column in sight, may be in the midst of one; of the token columns that all views have in common.
    [[nodiscard]] double left() const { return m_left; }
    /// Width of a column in pixels; 0 = as wide as there is room.
    [[nodiscard]] double columnWidth() const { return m_columnWidth; }

    /// Relevance of token `token` in the stream that enters layer `row` (row layerCount(): that leaves the last one).
    [[nodiscard]] double atLayer(int row, int token) const;
    /// Relevance of head `head` of the shown attention.
    [[nodiscard]] double atHead(int head, int token) const;
    /// Links of the shown attention and heads, the largest first.
    [[nodiscard]] const std::vector<DrawnLink>& links() const;
    /// The word of a token on one line: white space becomes visible.
    [[nodiscard]] const QString& word(int token) const { return m_words[static_cast<std::size_t>(token)]; }
    /// The same, cut to a width in pixels in the font of labels.
    [[nodiscard]] QString wordWithin(int token, double width) const;
    /// What a step explains: "“ Paris” instead of “ London”".
    [[nodiscard]] QString stepTitle(int step) const;
    /// The same with which step or position of the text it is.
    [[nodiscard]] QString stepLabel(int step) const;

public slots:
    void setStep(int step);
    void setLayer(int layer);
    void setHead(int head);
    void setToken(int token);
    void setLeft(double left);
    void setColumnWidth(double width);

signals:
    void textChanged();
    /// Step, layer, head or token is another one.
    void changed();
    /// Another part is in sight.
    void scrolled();

private:
    void clampAll();

    std::shared_ptr<const trace::RunText> m_text;
    int m_step = 0;
    int m_layer = 0;
    int m_head = -1;
    int m_token = -1;
    double m_left = 0;
    double m_columnWidth = 0;
    std::vector<QString> m_words;           ///< per token, for one line
    mutable std::vector<double> m_widths;   ///< of them, in pixels; negative = not measured yet
    mutable double m_fontScale = 0;         ///< that they were measured at
    mutable std::vector<DrawnLink> m_links; ///< of layer, head and step as below
    mutable bool m_areLinksKnown = false;
};

} // namespace retro::views

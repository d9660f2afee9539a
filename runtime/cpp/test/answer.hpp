// Known answers: messages and what comes of them, from the file beside the test.
#pragma once

#include <headrace/message.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace headrace::test {

using Bytes = std::vector<std::uint8_t>;

inline std::string digits(const Bytes& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

/// Strings that came out.
class Made {
public:
    /// With the first bytes of a buffer.
    Made& with(const char* string, const Bytes& buffer, std::size_t n) {
        strings[string] = Bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n));
        return *this;
    }

    std::map<std::string, Bytes> strings;
};

/// A message and what must come of it.
class Answer {
public:
    /// A string, empty where there is none.
    [[nodiscard]] const Bytes& get(const char* string) const {
        static const Bytes empty;
        const auto found = strings.find(string);
        return found == strings.end() ? empty : found->second;
    }

    /// A string, or nothing.
    [[nodiscard]] std::optional<std::span<const std::uint8_t>> find(const char* string) const {
        const auto found = strings.find(string);
        return found == strings.end() ? std::nullopt : std::optional<std::span<const std::uint8_t>>(found->second);
    }

    /// How many words are wanted.
    [[nodiscard]] std::uint32_t words() const { return n_words; }

    /// Room for every string that comes out.
    [[nodiscard]] Bytes room() const {
        std::size_t most = 0;
        for (const auto& [string, bytes] : strings) {
            most = std::max(most, bytes.size());
        }
        return Bytes(most + 1024, 0xa5);
    }

    std::map<std::string, Bytes> strings;
    std::uint32_t n_words = 0;
    bool refused = false;
};

/// All of them.
class Answers {
public:
    explicit Answers(const char* path) {
        std::ifstream file(path);
        if (!file) {
            throw std::runtime_error(std::string("cannot read ") + path);
        }
        std::string line;
        std::string operation;
        Answer answer;
        while (std::getline(file, line)) {
            const std::size_t space = line.find(' ');
            const std::string word = line.substr(0, space);
            const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
            if (word == "operation") {
                operation = rest;
            } else if (word == "words") {
                answer.n_words = static_cast<std::uint32_t>(std::stoul(rest));
            } else if (word == "accepted" || word == "refused") {
                answer.refused = word == "refused";
                answers_[operation].push_back(answer);
                answer = Answer();
            } else if (word != "#") {
                answer.strings[word] = rest == "-" ? Bytes() : parse(rest);
            }
        }
    }

    [[nodiscard]] const std::vector<Answer>& of(const char* operation) { return answers_[operation]; }

    [[nodiscard]] std::size_t n_judged() const { return n_judged_; }

    [[nodiscard]] std::size_t n_failed() const { return n_failed_; }

    /// Tests an operation, as far as it does what it must, and says what came of it.
    template <class Test>
    void report(const char* operation, Test test) {
        const std::size_t before = n_judged_;
        std::size_t failed = 0;
        try {
            test();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
            failed = 1;
        }
        n_failed_ += failed;
        // What failed may be no attempt.
        const std::size_t judged = n_judged_ - before;
        std::printf("operation %s: %zu passed, %zu failed\n", operation, judged - std::min(judged, failed), failed);
    }

    /// Holds an attempt to what must come of it.
    template <class Attempt>
    void judge(const Answer& answer, const std::string& what, Attempt attempt) {
        ++n_judged_;
        Made made;
        try {
            made = attempt();
        } catch (const Error& error) {
            if (answer.refused && error.reason() != Reason::stuck) {
                return;
            }
            throw std::runtime_error(what + ": " + error.what());
        }
        if (answer.refused) {
            throw std::runtime_error(what + ": it was not refused");
        }
        for (auto& [string, got] : made.strings) {
            const auto found = answer.strings.find(string);
            if (found == answer.strings.end()) {
                continue;
            }
            // Of a tag the first bytes may be all that is known.
            if (string == "TAG" && found->second.size() < got.size()) {
                got.resize(found->second.size());
            }
            if (got != found->second) {
                throw std::runtime_error(what + ": " + string + " is " + digits(got) + ", not " + digits(found->second));
            }
        }
    }

private:
    static Bytes parse(const std::string& text) {
        Bytes bytes;
        for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
            bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(at, 2), nullptr, 16)));
        }
        return bytes;
    }

    std::map<std::string, std::vector<Answer>> answers_;
    std::size_t n_judged_ = 0;
    std::size_t n_failed_ = 0;
};

}  // namespace headrace::test

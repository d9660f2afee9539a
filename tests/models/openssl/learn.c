/* What is known of a context after a call; see ciphers.h. */
#include "ciphers.h"

/* What both have come to. */
void learn_cipher(struct seen *seen, const struct call *call, const EVP_CIPHER *cipher, bool good, size_t given_bytes) {
    switch (call->kind) {
    case INIT:
        if ((call->a & 1) != 0 || !seen->has_cipher) {
            const bool before = seen->encrypts;
            *seen = (struct seen){.has_cipher = true, .encrypts = before};
            seen->tag_bytes = is_mode(cipher, EVP_CIPH_CCM_MODE) ? 12 : 16;
        }
        if (seen->has_begun && (call->a & 4) == 0 &&
            ((call->a & 2) != 0 || (call->b % 3 != 0 && seen->encrypts != (call->b % 3 == 1)))) {
            seen->is_lost = true;
        }
        if ((call->a & 4) != 0 && !is_mode(cipher, EVP_CIPH_GCM_MODE)) {
            seen->is_head_spoilt = false;
        } else if (seen->has_head && (call->a & 6) == 2) {
            seen->is_head_spoilt = true;
        }
        seen->is_continued = seen->is_continued || (seen->has_begun && (call->a & 6) == 0);
        if (call->b % 3 != 0) {
            seen->has_turned = seen->has_turned || (seen->is_keyed && seen->encrypts != (call->b % 3 == 1));
            seen->encrypts = call->b % 3 == 1;
        }
        if ((call->a & 2) != 0) {
            seen->is_keyed = true;
            seen->has_turned = false;
            seen->n_since = 0;
        }
        if ((call->a & 4) != 0) {
            seen->has_iv = true;
            seen->has_begun = seen->has_text = seen->is_over = seen->is_forged = seen->is_lost = seen->is_continued = seen->is_num_set = false;
            seen->n_since = 0;
        }
        seen->text_at = seen->ad_at = 0;
        break;
    case UPDATE:
    case DIRECT:
    case RECORD:
        seen->has_text = seen->has_text || given_bytes != 0 || call->kind == RECORD;
        seen->has_begun = seen->has_begun || seen->has_text || is_mode(cipher, EVP_CIPH_OCB_MODE);
        seen->is_over = seen->is_over || (call->kind == RECORD && seen->has_records && does_seal(cipher));
        seen->text_at += given_bytes;
        seen->n_since += given_bytes;
        seen->has_records = seen->has_records || call->kind == RECORD;
        break;
    case AD:
        seen->has_begun = true;
        seen->ad_at += given_bytes;
        break;
    case LENGTH:
        seen->has_begun = true;
        break;
    case FINAL:
        seen->is_over = seen->is_over || good;
        seen->is_forged = seen->is_forged || (!good && !seen->encrypts && does_seal(cipher));
        seen->is_tag_made = seen->is_tag_made || (good && seen->encrypts);
        seen->was_tag_lost = seen->was_tag_lost && !(good && seen->encrypts);
        break;
    case SET_TAG:
        seen->tag_bytes = good ? call->a : seen->tag_bytes;
        seen->is_tag_set = seen->is_tag_set || (good && call->b % 3 != 1);
        seen->is_head_spoilt = seen->is_head_spoilt || seen->has_head;
        seen->was_tag_lost = seen->was_tag_lost || seen->is_tag_made;
        break;
    case TLS_AD:
        seen->has_records = seen->has_head = true;
        seen->is_head_spoilt = false;
        break;
    case FIXED:
        seen->has_records = seen->has_records || good;
        seen->is_head_spoilt = seen->is_head_spoilt || seen->has_begun || seen->has_head;
        break;
    case TLS_SET:
        seen->has_records = true;
        break;
    case NUM:
        seen->is_num_set = true;
        break;
    case FORM:
        seen->form = call->a % 4;
        break;
    default:
        break;
    }
}
